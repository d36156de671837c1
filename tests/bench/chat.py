"""One chat completion of an OpenAI-compatible server, with its counts and times; errors become answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx

from services.decoding.calls import IDLE_S
from services.decoding.ports import Message


@dataclass(frozen=True, slots=True)
class Answer:
    """`finish` is the server's reason, or `refused` with the server's words as `text`."""

    text: str
    finish: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float

    @classmethod
    def of(cls, document: dict[str, Any], seconds: float) -> Answer:
        """Out of the document of a chat completion."""
        choice, usage = document["choices"][0], document["usage"]
        return cls(
            choice["message"]["content"] or "",
            choice["finish_reason"],
            usage["prompt_tokens"],
            (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
            usage["completion_tokens"],
            seconds,
        )


class Chat:
    """A client of one server and model."""

    def __init__(self, url: str, model: str, timeout_s: float = 300.0) -> None:
        self._model = model
        # Servers close what was idle for 5 s, and a request that is under way in that moment is lost.
        limits = httpx.Limits(max_connections=256, keepalive_expiry=IDLE_S)
        self._http = httpx.Client(base_url=url, timeout=timeout_s, limits=limits, trust_env=False)

    def ask(self, chat: list[Message], **body: Any) -> Answer:
        """One answer. A request that the server refuses is an answer too: that is what a caller would see.

        Raises:
            httpx.HTTPError: no answer at all.
        """
        started = time.perf_counter()
        answer = self._post(chat, body)
        seconds = time.perf_counter() - started
        if answer.status_code >= 400:
            return Answer(answer.text[:300], "refused", 0, 0, 0, seconds)
        return Answer.of(answer.json(), seconds)

    def _post(self, chat: list[Message], body: dict[str, Any]) -> httpx.Response:
        return self._http.post("/v1/chat/completions", json={"model": self._model, "messages": chat, **body})
