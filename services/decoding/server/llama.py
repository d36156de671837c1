"""llama.cpp by its C functions: a model, with or without an adapter at work, and its logits for any tokens.

Its server says how likely a token was that it drew, and nothing of a text that it is given
(`server-context.cpp`, b11549). The package that brings the server exports the C functions too, and they do:
https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h

The structures below are those of that build's header. Those that go by value are made by the library and
changed in a few fields, and what it made is looked at, so that a package with other ones is refused.

Cost, 1.5B in 4 bits on 2 threads: 1.2 GB; 20 to 25 ms a token in batches of 128, 32 in one of 30, 77 alone.
"""

from __future__ import annotations

import ctypes as c
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.errors import EngineMisconfigured
from services.decoding.server.mapped import let_go

Logits = npt.NDArray[np.float32]
_HINT = "Run `make setup` again: the locked package is needed."
_LIBGOMP = "The system's libgomp is missing: apt-get install libgomp1"
_TOLD = (3, 4)  # ggml's warning and error
_OFF, _AS_IT_LIKES = 0, -1  # flash attention
ATTENTION = "plain attention"
"""Another kind could not take up this one's states."""
_SPECIAL = True  # marks of a chat are tokens of their own


class _ModelParams(c.Structure):
    _fields_ = (
        ("devices", c.c_void_p),
        ("tensor_buft_overrides", c.c_void_p),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int),
        ("load_mode", c.c_int),
        ("lazy_mode", c.c_int),
        ("main_gpu", c.c_int32),
        ("tensor_split", c.c_void_p),
        ("progress_callback", c.c_void_p),
        ("progress_callback_user_data", c.c_void_p),
        ("kv_overrides", c.c_void_p),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
        ("beyond", c.c_byte * 64),  # room, should a build's be longer
    )


class _ContextParams(c.Structure):
    _fields_ = (
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("kinds", c.c_int32 * 4),  # of context, rope, pooling and attention
        ("flash_attn", c.c_int32),
        ("beyond", c.c_byte * 236),  # of which nothing is changed
    )


class _Batch(c.Structure):
    _fields_ = (
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.c_void_p),
        ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)),
        ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    )


class _ChatMessage(c.Structure):
    _fields_ = (("role", c.c_char_p), ("content", c.c_char_p))


_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


def _tell(level: int, text: bytes, _about: int) -> None:
    """Warnings and errors alone; of what it tells beside them there are hundreds of lines a start."""
    if level in _TOLD:
        sys.stderr.buffer.write(text)


_log = _LOG(_tell)  # kept here: the library calls it for as long as it lives


# Function -> type of its result and of its arguments.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_log_set": (None, (_LOG, c.c_void_p)),
    "llama_model_default_params": (_ModelParams, ()),
    "llama_context_default_params": (_ContextParams, ()),
    "llama_model_load_from_file": (c.c_void_p, (c.c_char_p, _ModelParams)),
    "llama_init_from_model": (c.c_void_p, (c.c_void_p, _ContextParams)),
    "llama_adapter_lora_init": (c.c_void_p, (c.c_void_p, c.c_char_p)),
    "llama_set_adapters_lora": (
        c.c_int32,
        (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_float)),
    ),
    "llama_model_get_vocab": (c.c_void_p, (c.c_void_p,)),
    "llama_model_chat_template": (c.c_char_p, (c.c_void_p, c.c_char_p)),
    "llama_vocab_n_tokens": (c.c_int32, (c.c_void_p,)),
    "llama_get_memory": (c.c_void_p, (c.c_void_p,)),
    "llama_memory_seq_rm": (c.c_bool, (c.c_void_p, c.c_int32, c.c_int32, c.c_int32)),
    "llama_batch_init": (_Batch, (c.c_int32, c.c_int32, c.c_int32)),
    "llama_decode": (c.c_int32, (c.c_void_p, _Batch)),
    "llama_get_logits_ith": (c.POINTER(c.c_float), (c.c_void_p, c.c_int32)),
    "llama_tokenize": (
        c.c_int32,
        (c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool),
    ),
    "llama_token_to_piece": (
        c.c_int32,
        (c.c_void_p, c.c_int32, c.c_char_p, c.c_int32, c.c_int32, c.c_bool),
    ),
    "llama_chat_apply_template": (
        c.c_int32,
        (c.c_char_p, c.POINTER(_ChatMessage), c.c_size_t, c.c_bool, c.c_char_p, c.c_int32),
    ),
    "llama_state_seq_get_size": (c.c_size_t, (c.c_void_p, c.c_int32)),
    "llama_state_seq_get_data": (c.c_size_t, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32)),
    "llama_state_seq_set_data": (c.c_size_t, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32)),
}


class Llama:
    """One model with at most one adapter, and one sequence of tokens that it has read.

    Args:
        model, adapter: GGUF files.
        context: the most tokens of the sequence.
        batch: the most tokens that are read at once, and so the least after which somebody may interrupt.

    Raises:
        EngineMisconfigured: the package is another than the locked one, or a file can't be loaded.
    """

    def __init__(
        self, model: Path, adapter: Path | None = None, *, context: int, batch: int = 128, threads: int = 2
    ) -> None:
        self.batch, self.context = batch, context
        self._c = _library()
        loaded = self._c.llama_model_load_from_file(str(model).encode(), self._c.llama_model_default_params())
        if not loaded:
            raise EngineMisconfigured(
                f"{model.name} can't be loaded", hint="`saycart models fetch` mends it."
            )
        params = self._c.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = context, batch, batch, 1
        # Its flash attention takes a CPU longer than the plain one, and is no nearer to the model (ADR 69).
        params.flash_attn = _OFF
        params.n_outputs_max = params.n_outputs_max_per_seq = batch
        params.n_threads = params.n_threads_batch = threads
        self._context = self._c.llama_init_from_model(loaded, params)
        if not self._context:
            raise EngineMisconfigured(f"There is no room for a context of {context} tokens")
        let_go(model)
        self._adapter = self._loaded(loaded, adapter) if adapter is not None else None
        self.adapt(on=True)
        self._vocab = self._c.llama_model_get_vocab(loaded)
        self._template = self._c.llama_model_chat_template(loaded, None)
        self._memory = self._c.llama_get_memory(self._context)
        self._batch = self._c.llama_batch_init(batch, 0, 1)
        self.size: int = self._c.llama_vocab_n_tokens(self._vocab)

    def chat(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """The tokens of a chat by the model's own template, up to where an answer begins."""
        said = (_ChatMessage * len(messages))(
            *(_ChatMessage(m["role"].encode(), m["content"].encode()) for m in messages)
        )
        room = 256 + 2 * sum(len(m["content"].encode()) for m in messages)
        text = c.create_string_buffer(room)
        size = self._c.llama_chat_apply_template(self._template, said, len(messages), True, text, room)
        if not 0 <= size <= room:
            raise EngineMisconfigured("The model has no chat template that llama.cpp knows")
        return self._tokenized(text.raw[:size], _SPECIAL)

    def tokenize(self, text: str) -> list[int]:
        """Of an answer: what looks like a mark of the chat is text."""
        return self._tokenized(text.encode(), special=False)

    def marks(self, text: str) -> list[int]:
        """The tokens of a text in which marks of the chat are marks."""
        return self._tokenized(text.encode(), _SPECIAL)

    def _tokenized(self, text: bytes, special: bool) -> list[int]:
        found = (c.c_int32 * (len(text) + 8))()
        count = self._c.llama_tokenize(self._vocab, text, len(text), found, len(found), False, special)
        return list(found[:count])

    def piece(self, token: int) -> bytes:
        """The bytes of a token; none of a mark."""
        room = c.create_string_buffer(256)
        size = self._c.llama_token_to_piece(self._vocab, token, room, 256, 0, False)
        return room.raw[: max(0, size)]

    def read(self, tokens: Sequence[int], at: int, wanted: int = 0) -> Logits:
        """Read at most `batch` tokens from position `at` on; the logits behind the last `wanted` of them, of
        shape (wanted, size). What was there from `at` on is to be `cut` before.

        Raises:
            EngineMisconfigured: the sequence has no room for them.
        """
        batch, count = self._batch, len(tokens)
        batch.n_tokens = count
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index] = token, at + index
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
            batch.logits[index] = index >= count - wanted
        if self._c.llama_decode(self._context, batch):
            raise EngineMisconfigured(f"{at + count} tokens are more than the reader's context")
        found = np.empty((wanted, self.size), np.float32)
        for row in range(wanted):
            logits = self._c.llama_get_logits_ith(self._context, count - wanted + row)
            found[row] = np.ctypeslib.as_array(logits, (self.size,))
        return found

    def cut(self, at: int) -> None:
        """Forget what was read from position `at` on."""
        self._c.llama_memory_seq_rm(self._memory, 0, at, -1)

    def state(self) -> bytes:
        """What was read, to be had again by `restore`: some 28 kB a token of the 1.5B."""
        size = self._c.llama_state_seq_get_size(self._context, 0)
        room = c.create_string_buffer(size)
        written = self._c.llama_state_seq_get_data(self._context, room, size, 0)
        return room.raw[:written]

    def restore(self, state: bytes) -> bool:
        """Whether a state could be taken up; if not, nothing is read."""
        self.cut(0)
        if self._c.llama_state_seq_set_data(self._context, state, len(state), 0):
            return True
        self.cut(0)
        return False

    def adapt(self, *, on: bool) -> None:
        """Whether the adapter, if there is one, is at work from here on. What was read stays, and is to be
        `cut`: it was read the other way."""
        if self._adapter is None:
            return
        one, scale = (c.c_void_p * 1)(self._adapter), (c.c_float * 1)(1.0)
        if self._c.llama_set_adapters_lora(self._context, one, int(on), scale):
            raise EngineMisconfigured("The adapter is none of this model")

    def _loaded(self, model: int, adapter: Path) -> int:
        found: int | None = self._c.llama_adapter_lora_init(model, str(adapter).encode())
        if not found:
            raise EngineMisconfigured(f"{adapter.name} is no adapter of this model")
        return found


def _library() -> Any:
    """The package's functions. Raises EngineMisconfigured where its structures are not those above."""
    try:
        import xllamacpp

        library = c.CDLL(xllamacpp.xllamacpp.__file__)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (ImportError, AttributeError, OSError) as error:
        hint = _LIBGOMP if "libgomp" in str(error) else _HINT
        raise EngineMisconfigured(f"llama.cpp can't be reached: {error!r:.200}", hint=hint) from None
    library.llama_log_set(_log, None)
    model, context = library.llama_model_default_params(), library.llama_context_default_params()
    as_made = (
        *(model.use_extra_bufts, model.vocab_only, model.no_alloc),
        *(context.n_ctx, context.n_ubatch, context.flash_attn),
    )
    if as_made != (True, False, False, 512, 512, _AS_IT_LIKES) or not 0 < context.n_threads <= 512:
        raise EngineMisconfigured(f"This llama.cpp has other structures: it made {as_made}", hint=_HINT)
    return library
