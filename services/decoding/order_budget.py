"""The token budget of an order: the customer's words are counted before a model is asked about them.

A model's time goes by tokens, and characters say little about these: 1,990 characters of many-byte signs are
2,000 tokens, a minute of the only decode worker of a small machine; an order of sixty words has 79. They are
counted by the server's own tokenizer (`/tokenize`, which llama.cpp and vLLM both have), and only where it
can matter: the tokenizers are byte-level, so a text never has more tokens than bytes.
"""

from __future__ import annotations

import threading
from typing import Any

from schemas.errors import TooMuchToRead
from schemas.writable import writable
from services.decoding.calls import Calls

TOKENIZE = "/tokenize"
_COUNTING = "counting"


class OrderBudget:
    """`most`: tokens of the words; 0: any number."""

    def __init__(self, calls: Calls, *, dialect: str, model: str, most: int) -> None:
        self.most = most
        self._calls, self._dialect, self._model = calls, dialect, model

    def check(self, words: str, called_off: threading.Event | None = None) -> None:
        """Let words pass that fit.

        Raises:
            TooMuchToRead: they don't.
            EngineError: as `Calls.post`, where the server had to be asked.
        """
        text = writable(words)
        if not self.most or len(text.encode()) <= self.most:
            return
        if (count := self._count(text, called_off)) > self.most:
            raise TooMuchToRead(
                f"The words take {count} tokens of the model, and an order may take {self.most}",
                hint="Ask for a shorter order, or raise SAYCART_ORDER_TOKENS.",
            )

    def _count(self, text: str, called_off: threading.Event | None) -> int:
        body: dict[str, Any] = {"content": text}
        if self._dialect == "vllm":
            body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        found = self._calls.post(TOKENIZE, body, called_off=called_off, measured_as=_COUNTING)
        return len(found["tokens"])
