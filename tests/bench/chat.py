"""One chat completion of an OpenAI-compatible server, with its counts and times; errors become answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from services.engines.decoding.calls import IDLE_S
from services.engines.ports import Message


@dataclass(frozen=True, slots=True)
class Answer:
    """`finish` is the server's reason, or `refused` with the server's words as `text`. Times in seconds;
    `timings` are llama.cpp's own. Of a call of a function, `text` is its arguments."""

    text: str
    finish: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float
    timings: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, document: dict[str, Any], seconds: float) -> Answer:
        """Out of the document of a chat completion."""
        choice, usage = document["choices"][0], document["usage"]
        calls = choice["message"].get("tool_calls") or []
        return cls(
            calls[0]["function"]["arguments"] if calls else choice["message"]["content"] or "",
            choice["finish_reason"],
            usage["prompt_tokens"],
            (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
            usage["completion_tokens"],
            seconds,
            document.get("timings") or {},
        )


class Chat:
    """A client of one server and model."""

    def __init__(self, url: str, model: str, timeout_s: float = 300.0, *, key: str = "") -> None:
        self.port = httpx.URL(url).port or 80
        self._model = model
        # Servers close what was idle for 5 s, and a request that is under way in that moment is lost.
        limits = httpx.Limits(max_connections=256, keepalive_expiry=IDLE_S)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout_s, limits=limits, trust_env=False
        )

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

    def document(self, chat: list[Message], **body: Any) -> dict[str, Any]:
        """The whole answer as the server sent it, with the probabilities that were asked for.

        Raises:
            httpx.HTTPError: no answer, or a refusal.
        """
        found: dict[str, Any] = self._post(chat, body).raise_for_status().json()
        return found

    def tokens(self, text: str) -> list[int]:
        """The text as vLLM's tokenizer cuts it, marks read as marks.

        Raises:
            httpx.HTTPError: no answer, or a refusal.
        """
        asked = {"model": self._model, "prompt": text, "add_special_tokens": False}
        found: list[int] = self._http.post("/tokenize", json=asked).raise_for_status().json()["tokens"]
        return found

    def _post(self, chat: list[Message], body: dict[str, Any]) -> httpx.Response:
        return self._http.post("/v1/chat/completions", json={"model": self._model, "messages": chat, **body})
