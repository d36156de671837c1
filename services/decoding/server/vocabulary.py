"""A GGUF model's tokenizer from llama.cpp, also for llguidance.

Modelled on https://github.com/guidance-ai/llguidance/blob/main/python/llguidance/llamacpp.py.

Cost: about 1 s for 49,000 tokens, 2 s for 152,000, most of it inside llguidance.
"""

from __future__ import annotations

import ctypes as c

from llguidance import LLTokenizer

from services.decoding.server.llama import library

_CONTROL, _USER_DEFINED = 1 << 3, 1 << 4  # token attributes of llama.cpp
_MAX_PIECE = 1_024  # bytes


class ModelVocabulary:
    """The tokenizer of the loaded model at address `model`. `size` is the number of logits, and `end` the
    token that ends an answer."""

    def __init__(self, model: int) -> None:
        self._c = library()
        self._vocab = self._c.llama_model_get_vocab(model)
        self.size: int = self._c.llama_vocab_n_tokens(self._vocab)
        self.end: int = self._c.llama_vocab_eos(self._vocab)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; control tokens are plain text unless `special`."""
        data = text.encode()
        tokens = (c.c_int32 * (len(data) + 8))()
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, len(tokens), False, special)
        return list(tokens[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of a token; empty for a control token unless `special`."""
        buffer = c.create_string_buffer(_MAX_PIECE)
        size = self._c.llama_token_to_piece(self._vocab, token, buffer, _MAX_PIECE, 0, special)
        return buffer.raw[: max(0, size)]

    def tokenizer(self) -> LLTokenizer:
        """Return a tokenizer for llguidance, which calls llama.cpp's."""
        return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined,no-any-return]
            tokens=[self._llguidance_bytes(token) for token in range(self.size)],
            vocab_ptr=self._vocab,
            tokenize_fptr=c.cast(self._c.llama_tokenize, c.c_void_p).value,
            eos_token=self.end,
            slices=None,
        )

    def _llguidance_bytes(self, token: int) -> bytes:
        """Return the bytes of a token; llguidance marks control tokens by a leading 0xFF."""
        piece, kind = self.piece(token, special=True), self._c.llama_vocab_get_attr(self._vocab, token)
        looks_special = kind & _USER_DEFINED and piece.startswith(b"<") and piece.endswith(b">")
        return b"\xff" + piece if kind & _CONTROL or looks_special else piece
