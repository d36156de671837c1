"""llama.cpp's grammars without its server: the samplers of the `xllamacpp` wheel, reached as C functions.

For measurements only: what is not part of llama.h is reached by the name that the compiler gave it, which
another version of the wheel may not have.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

_ERROR = 4


class _Candidate(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float))


class _Candidates(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.POINTER(_Candidate)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class _Params(ctypes.Structure):  # larger than the library's, which looks at what it knows of
    _fields_ = (("raw", ctypes.c_uint8 * 256),)


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def _log(level: int, text: bytes, _: None) -> None:
    if level == _ERROR:
        sys.stderr.write(text.decode(errors="replace"))
        sys.stderr.flush()


def _library() -> Any:
    import xllamacpp.xllamacpp

    return ctypes.CDLL(xllamacpp.xllamacpp.__file__)


def gbnf_of(schema: dict[str, Any]) -> bytes:
    """What llama.cpp's own converter makes of a schema. The `xllamacpp` wheel's Python gives llguidance's
    grammar instead, as its server does; its C++ has the converter as a symbol. Where that throws, the process
    ends with the reason on standard error."""
    library, standard = _library(), ctypes.CDLL("libstdc++.so.6")
    text, document, grammar = (ctypes.create_string_buffer(256) for _ in range(3))
    # A std::string of the older ABI: one pointer; made by the constructor that every libstdc++ exports.
    standard["_ZNSsC1EPKcRKSaIcE"](text, json.dumps(schema).encode(), ctypes.create_string_buffer(8))
    library["_ZN11common_json5parseERKSs"](document, text)
    library["_Z22json_schema_to_grammarRK11common_jsonb"](grammar, document, True)
    return ctypes.cast(grammar, ctypes.POINTER(ctypes.c_char_p))[0] or b""


class Sampler:
    """One grammar under way."""

    def __init__(self, library: Any, handle: int, tokens: int) -> None:
        self._library, self._handle = library, ctypes.c_void_p(handle)
        self._all = (_Candidate * tokens)()

    def open_to(self, token: int) -> bool:
        """Whether this one token may come next."""
        one = _Candidate(token, 0.0, 0.0)
        candidates = _Candidates(ctypes.pointer(one), 1, -1, False)
        self._library.llama_sampler_apply(self._handle, ctypes.byref(candidates))
        return bool(one.logit > -1e30)

    def fill(self) -> None:
        """The whole vocabulary through the mask; `fresh` before it."""
        candidates = _Candidates(self._all, len(self._all), -1, False)
        self._library.llama_sampler_apply(self._handle, ctypes.byref(candidates))

    def fresh(self) -> None:
        """Every token, with no logit yet; the mask writes into them."""
        ctypes.memset(ctypes.addressof(self._all), 0, ctypes.sizeof(self._all))
        for number in range(len(self._all)):
            self._all[number].id = number

    def accept(self, token: int) -> None:
        self._library.llama_sampler_accept(self._handle, ctypes.c_int32(token))

    def free(self) -> None:
        self._library.llama_sampler_free(self._handle)


class Llama:
    """The vocabulary of a GGUF, and samplers over it."""

    def __init__(self, weights: str) -> None:
        self._library = library = _library()
        for name in ("load_from_file", "get_vocab"):
            getattr(library, f"llama_model_{name}").restype = ctypes.c_void_p
        library.llama_sampler_init_grammar.restype = ctypes.c_void_p
        self._made = library["_Z22llama_sampler_init_llgPK11llama_vocabPKcS3_"]
        self._made.restype = ctypes.c_void_p
        library.llama_model_default_params.restype = _Params
        library.llama_log_set(_log, None)
        library.llama_backend_init()
        model = library.llama_model_load_from_file(weights.encode(), library.llama_model_default_params())
        if not model:
            raise FileNotFoundError(weights)
        self._vocabulary = ctypes.c_void_p(library.llama_model_get_vocab(ctypes.c_void_p(model)))
        self.tokens = int(library.llama_vocab_n_tokens(self._vocabulary))

    def gbnf(self, grammar: bytes) -> Sampler | None:
        """None where llama.cpp can't parse it."""
        handle = self._library.llama_sampler_init_grammar(self._vocabulary, grammar, b"root")
        return Sampler(self._library, handle, self.tokens) if handle else None

    def llguidance(self, lark: str) -> Sampler:
        """llguidance as it is compiled into the wheel. What does not compile masks nothing."""
        handle = self._made(self._vocabulary, b"lark", lark.encode())
        return Sampler(self._library, handle, self.tokens)

    def tokenized(self, text: str) -> list[int]:
        raw = text.encode()
        found = (ctypes.c_int32 * (len(raw) + 8))()
        count = self._library.llama_tokenize(self._vocabulary, raw, len(raw), found, len(found), False, False)
        return list(found[:count])
