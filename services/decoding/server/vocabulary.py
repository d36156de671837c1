"""A model's own tokenizer, for llguidance: llama.cpp's, of a GGUF file.

As https://github.com/guidance-ai/llguidance/blob/main/python/llguidance/llamacpp.py does for another package.

Cost: about 1 s for 49,000 tokens, 2 s for 152,000, most of it inside llguidance.
"""

from __future__ import annotations

import ctypes as c

from llguidance import LLTokenizer

from services.decoding.server.llama import library

_CONTROL, _USER_DEFINED = 1 << 3, 1 << 4  # llama.cpp's attributes of a token
_LONGEST = 1_024


class ModelVocabulary:
    """The tokenizer of a model that llama.cpp has loaded at the address `model`. `size` counts every row of
    the model's output, and `end` is the token that ends an answer."""

    def __init__(self, model: int) -> None:
        self._c = library()
        self._vocab = self._c.llama_model_get_vocab(model)
        self.size: int = self._c.llama_vocab_n_tokens(self._vocab)
        self.end: int = self._c.llama_vocab_eos(self._vocab)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; marks of the chat are text unless they are `special`."""
        data = text.encode()
        tokens = (c.c_int32 * (len(data) + 8))()
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, len(tokens), False, special)
        return list(tokens[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of a token; none of a mark unless it is `special`."""
        room = c.create_string_buffer(_LONGEST)
        size = self._c.llama_token_to_piece(self._vocab, token, room, _LONGEST, 0, special)
        return room.raw[: max(0, size)]

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
