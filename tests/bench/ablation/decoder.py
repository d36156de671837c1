"""The product's decoder with a variant's levers around it, and answers kept on disk.

An answer is kept under its whole request. So variants that ask the same of the model share one answer, and a
run that was stopped goes on where it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic import TypeAdapter

from schemas.errors import EngineUnavailable
from schemas.evidence import Evidence
from services.checks.one_cart import one_cart
from services.engines.decoding.calls import Calls
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.masks.labels import Labels
from services.engines.ports import Decoded, Message
from services.evaluation.kept import Kept
from tests.bench.ablation.levers import FULL, Variant

_CHAT = "/v1/chat/completions"
_ANSWER = TypeAdapter(dict[str, Any])


class KeptCalls(Calls):
    """Answers of a server, asked for once; `calls` and `tokens` count what was answered, kept or not."""

    def __init__(self, url: str, folder: Path, *, key: str = "", timeout_s: float = 300.0) -> None:
        super().__init__(url, timeout_s=timeout_s, api_key=key)
        self._kept = Kept(folder)
        self.calls = self.tokens = 0

    def post(
        self,
        path: str,
        body: dict[str, Any],
        *,
        called_off: threading.Event | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """See `Calls.post`."""
        post = partial(super().post, path, body, called_off=called_off, timeout_s=timeout_s)
        answer = self._kept.answer("answers", [path, body], _ANSWER, post)
        self.calls += 1
        self.tokens += int((answer.get("usage") or {}).get("completion_tokens", 0))
        return answer


class LeverDecoder:
    """`CartDecoder` of `variant`. Where the words leave one cart and the mask holds to it, that cart is given
    without asking, unless `always`; where not `asks`, no model is there for the rest."""

    def __init__(self, inner: OpenAIDecoder, calls: KeptCalls, model: str) -> None:
        self._inner, self._calls, self._model = inner, calls, model
        self.variant: Variant = FULL
        self.always, self.asks = False, True

    def decode(
        self, evidence: Evidence, called_off: threading.Event | None = None, *, whole: bool = False
    ) -> Decoded:
        """See `CartDecoder.decode`."""
        known = one_cart(evidence) if self.variant.forced and not self.always else None
        if known is not None:
            return Decoded(known, "none", "", 0, 0, 0.0)
        if not self.asks:
            raise EngineUnavailable("No model is asked for this order")
        prompt = self.variant.prompt

        def messages(opened: Evidence, labels: Labels) -> list[Message]:
            return prompt(opened, labels, self._ask)

        with patch("services.engines.decoding.decoder.messages", messages):
            return self._inner.decode(self.variant.mask(evidence), called_off)

    def warm(self, evidence: Evidence) -> None:
        """See `CartDecoder.warm`."""

    def _ask(self, chat: list[Message], body: dict[str, Any]) -> str:
        request = {"model": self._model, "messages": chat, "temperature": 0, "cache_prompt": True, **body}
        return str(self._calls.post(_CHAT, request)["choices"][0]["message"]["content"] or "")


def lever_decoder(url: str, model: str, calls: KeptCalls) -> LeverDecoder:
    """The product's client of an embedded server, which asks through `calls`."""
    made: Callable[..., KeptCalls] = lambda *_, **__: calls  # noqa: E731
    with patch("services.engines.decoding.decoder.Calls", made):
        # Whole: variants are compared by the tokens of their answers.
        inner = OpenAIDecoder(url, dialect="llama.cpp", model=model, whole=True)
    return LeverDecoder(inner, calls, model)
