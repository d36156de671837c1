"""A model's own tokenizer, for llguidance: llama.cpp's, of a GGUF file, or a `tokenizer.json`.

As https://github.com/guidance-ai/llguidance/blob/main/python/llguidance/llamacpp.py does for another package.

Cost: about 1 s for 49,000 tokens, 2 s for 152,000, most of it inside llguidance.
"""

from __future__ import annotations

import ctypes as c
import json
from dataclasses import dataclass
from pathlib import Path

from llguidance import LLTokenizer

from schemas.errors import EngineMisconfigured
from services.decoding.server.llama import library

_CONTROL, _USER_DEFINED = 1 << 3, 1 << 4  # llama.cpp's attributes of a token
_LONGEST = 1_024


class ModelVocabulary:
    """The tokenizer of a model that llama.cpp has loaded at the address `model`. `size` counts every row of
    the model's output, and `end` is the token that ends an answer."""

    def __init__(self, model: int, name: str) -> None:
        self._c, self.name = library(), name
        self._vocab = self._c.llama_model_get_vocab(model)
        self.size: int = self._c.llama_vocab_n_tokens(self._vocab)
        self.end: int = self._c.llama_vocab_eos(self._vocab)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; marks of the chat are text unless they are `special`."""
        data = text.encode()
        found = (c.c_int32 * (len(data) + 8))()
        count = self._c.llama_tokenize(self._vocab, data, len(data), found, len(found), False, special)
        return list(found[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of a token; none of a mark unless it is `special`."""
        room = c.create_string_buffer(_LONGEST)
        size = self._c.llama_token_to_piece(self._vocab, token, room, _LONGEST, 0, special)
        return room.raw[: max(0, size)]

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the control marks of chats."""
        control = [n for n in range(self.size) if self._c.llama_vocab_get_attr(self._vocab, n) & _CONTROL]
        return tuple(self.piece(token, special=True).decode(errors="replace") for token in control)

    def tokenizer(self) -> LLTokenizer:
        """Return llguidance's, which cuts text by llama.cpp."""
        return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined,no-any-return]
            tokens=[self._spelled(token) for token in range(self.size)],
            vocab_ptr=self._vocab,
            tokenize_fptr=c.cast(self._c.llama_tokenize, c.c_void_p).value,
            eos_token=self.end,
            slices=None,
        )

    def _spelled(self, token: int) -> bytes:
        """The bytes of a token, those of a mark as llguidance knows one."""
        piece, kind = self.piece(token, special=True), self._c.llama_vocab_get_attr(self._vocab, token)
        like_a_mark = kind & _USER_DEFINED and piece.startswith(b"<") and piece.endswith(b">")
        return b"\xff" + piece if kind & _CONTROL or like_a_mark else piece


@dataclass(frozen=True, slots=True)
class JsonVocabulary:
    """The tokenizer in the files of Hugging Face."""

    name: str
    document: str
    size: int
    end: int
    marks: tuple[str, ...]

    def tokenizer(self) -> LLTokenizer:
        """Raises EngineMisconfigured where llguidance can't use it."""
        try:
            return LLTokenizer(self.document, n_vocab=self.size, eos_token=self.end)
        except ValueError as error:
            raise EngineMisconfigured(
                f"llguidance can't use the tokenizer of {self.name}: {error!s:.200}",
                hint="Serve a model with a byte-level BPE tokenizer.",
            ) from None


Vocabulary = ModelVocabulary | JsonVocabulary


def read_vocabulary(path: Path) -> Vocabulary:
    """The tokenizer of a GGUF file, a `tokenizer.json`, or a folder that holds one.

    Raises:
        EngineMisconfigured: no such file, not whole, or of a kind that llama.cpp does not know.
    """
    if path.is_dir():
        path = path / "tokenizer.json"
    if path.suffix == ".json":
        return _from_json(path)
    params = library().llama_model_default_params()
    params.vocab_only = True
    # Never freed: llguidance goes on to call its tokenizer.
    model = library().llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise EngineMisconfigured(
            f"{path.name} has no tokenizer that llama.cpp can read",
            hint="`saycart models verify` tells whether the file is whole; else give a --tokenizer.",
        )
    return ModelVocabulary(model, path.name)


def _from_json(path: Path) -> JsonVocabulary:
    """The end of an answer is named in `tokenizer_config.json` next to it."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        named = json.loads((path.parent / "tokenizer_config.json").read_text(encoding="utf-8"))["eos_token"]
        added = document["added_tokens"]
        ids = {**document["model"]["vocab"], **{token["content"]: token["id"] for token in added}}
        end = ids[named["content"] if isinstance(named, dict) else named]
        marks = tuple(token["content"] for token in added if token["special"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineMisconfigured(
            f"No tokenizer could be read at {path}: {error!r:.100}",
            hint="Name a folder with tokenizer.json and tokenizer_config.json, or a GGUF file.",
        ) from None
    return JsonVocabulary(path.parent.name, text, max(ids.values()) + 1, end, marks)
