"""A decode server with this service's metrics, traces and errors.

Cost: about 50 ms per token on 2 CPU threads with the 1.5B model.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self, Unpack

import httpx
import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    AnswerRefused,
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
    MenuBeingRead,
)
from services.clients.masked.saycart_masked import Completed, Message, errors
from services.clients.masked.saycart_masked.engine import CHAT, Document, Engine, Sent, document_of

log = structlog.get_logger()

ADAPTER_TIMEOUT_S = 10.0
"""An order waits for this answer, and a server that is decoding is slow to give it."""
_ERRORS: dict[type[errors.MaskedCallError], type[EngineError]] = {
    errors.ServerUnavailable: EngineUnavailable,
    errors.RequestRefused: EngineMisconfigured,
    errors.AnswerTruncated: DecodeTruncated,
    errors.OutsideMask: DecodeInvalid,
    errors.CallCancelled: DecodeCancelled,
}


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the client package's errors as this service's."""
    try:
        yield
    except errors.AnswerRejected as error:
        raise AnswerRefused(error.problems, quoted=error.quoted) from None
    except errors.MaskedCallError as error:
        raise _ERRORS[type(error)](error.detail, quoted=error.quoted) from error


def record_usage(engine: str, done: Completed) -> Completed:
    """Add an answer's tokens to the metrics of `engine`, and return the answer."""
    measures.count_tokens(
        engine,
        prompt=done.prompt_tokens,
        cached=done.cached_tokens,
        completion=done.completion_tokens,
        overruled=done.overruled,
    )
    return done


class Completions(Engine):
    """An engine with metrics and traces for each request, and optionally an `adapter`."""

    adapter = ""

    @property
    def name(self) -> str:
        return f"{self.dialect}:{self.adapter or self.model}"

    def with_adapter(self, adapter: str) -> Self:
        """Return the model with a LoRA adapter: by name with vLLM, the first one loaded with llama.cpp."""
        adapted = copy.copy(self)
        adapted.adapter = adapter
        if self.dialect == "vllm":
            adapted.model = adapter or self.model
        return adapted

    def prompt(self, chat: Sequence[Message]) -> Document:
        """See `Engine.prompt`."""
        lora = self.adapter and self.dialect == "llama.cpp"
        return super().prompt(chat) | ({"lora": [{"id": 0, "scale": 1.0}]} if lora else {})

    def has_adapter(self) -> bool | None:
        """Return True if the server has loaded the adapter; None if it gave no answer yet."""
        path = "/v1/models" if self.dialect == "vllm" else "/lora-adapters"
        try:
            answer = httpx.get(
                f"{self.url}{path}", headers=self._http.headers, timeout=ADAPTER_TIMEOUT_S, trust_env=False
            )
            if answer.is_server_error:  # it may be loading its model
                return None
            loaded = answer.json() if answer.is_success else None
            if self.dialect == "vllm" and loaded:
                loaded = [model for model in loaded.get("data", ()) if model.get("id") == self.adapter]
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return None
        if not loaded:
            log.warning("reader.absent", url=self.url, adapter=self.adapter)
        return bool(loaded)

    def count(self, text: str, called_off: threading.Event | None = None) -> int:
        """Return the number of tokens in a text, from the server's own tokenizer; raises as `post`."""
        body: Document = {"content": text}
        if self.dialect == "vllm":
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        return len(self._measured("/tokenize", body, "counting", called_off=called_off)["tokens"])

    def warm(self, chat: Sequence[Message], called_off: threading.Event | None = None) -> None:
        """Request one token: servers cache a prompt only when they use it. Raises as `send`."""
        body = self.prompt(chat) | {"temperature": 0, "max_tokens": 1}
        self._measured(CHAT, body, "warming", called_off=called_off)

    def post(self, path: str, body: Document, **how: Unpack[Sent]) -> Document:
        """See `Engine.post`. Raises MenuBeingRead if the embedded engine read one chunk of a menu."""
        return self._measured(path, body, "decode_request", **how)

    def _measured(self, path: str, body: Document, name: str, **how: Unpack[Sent]) -> Document:
        at = httpx.URL(self.url)
        about: tracing.Attributes = {
            "http.request.method": "POST",
            "server.address": at.host,
            "server.port": at.port or (443 if at.scheme == "https" else 80),
        }
        with tracing.span(f"POST {path}", about, kind="client"), measures.time_engine(name):
            how["headers"] = tracing.headers()
            answer = self.send(path, body, **how)
            tracing.note({"http.response.status_code": answer.status_code})
            document = document_of(answer)
        if pending := document.get(MenuBeingRead.code):
            raise MenuBeingRead("The menu is new to the reader", wait_s=float(pending["wait_s"]))
        return document
