"""A decode server as this service asks it: measured, traced, and with this service's errors.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token.
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

READER_S = 10.0
"""For the question whether there is a reader, on which an order waits: a server that decodes answers late."""
_OURS: dict[type[errors.MaskedCallError], type[EngineError]] = {
    errors.ServerUnavailable: EngineUnavailable,
    errors.RequestRefused: EngineMisconfigured,
    errors.AnswerTruncated: DecodeTruncated,
    errors.OutsideMask: DecodeInvalid,
    errors.CallCancelled: DecodeCancelled,
}


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise the package's errors in the block as this service's."""
    try:
        yield
    except errors.AnswerRejected as error:
        raise AnswerRefused(error.problems, quoted=error.quoted) from None
    except errors.MaskedCallError as error:
        raise _OURS[type(error)](error.detail, quoted=error.quoted) from error


def counted(engine: str, done: Completed) -> Completed:
    """Count the tokens of an answer in the metrics of `engine`."""
    measures.tokens(
        engine,
        prompt=done.prompt_tokens,
        cached=done.cached_tokens,
        completion=done.completion_tokens,
        overruled=done.overruled,
    )
    return done


class Completions(Engine):
    """An engine whose requests are measured and traced, with an `adapter` or without."""

    adapter = ""

    @property
    def name(self) -> str:
        return f"{self.dialect}:{self.adapter or self.model}"

    def with_adapter(self, adapter: str) -> Self:
        """Return the same server's model with this LoRA adapter: by its name with vLLM, the first one loaded
        with llama.cpp."""
        adapted = copy.copy(self)
        adapted.adapter = adapter
        if self.dialect == "vllm":
            adapted.model = adapter or self.model
        return adapted

    def prompt(self, chat: Sequence[Message]) -> Document:
        """See `Engine.prompt`."""
        lora = self.adapter and self.dialect == "llama.cpp"
        return super().prompt(chat) | ({"lora": [{"id": 0, "scale": 1.0}]} if lora else {})

    def is_loaded(self) -> bool | None:
        """Return whether the server has the adapter; None while it does not say."""
        vllm = self.dialect == "vllm"
        path = "/v1/models" if vllm else "/lora-adapters"
        try:
            answer = httpx.get(
                f"{self.url}{path}", headers=self._http.headers, timeout=READER_S, trust_env=False
            )
            had = answer.raise_for_status().json()
            has_adapter = (
                any(one.get("id") == self.adapter for one in had.get("data", ())) if vllm else bool(had)
            )
        except httpx.HTTPStatusError as error:
            if error.response.is_server_error:  # it may be loading its model
                return None
            has_adapter = False
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return None
        if not has_adapter:
            log.warning("reader.absent", url=self.url, adapter=self.adapter)
        return has_adapter

    def count(self, text: str, called_off: threading.Event | None = None) -> int:
        """Return the number of a text's tokens, by the server's own tokenizer; raises as `post`."""
        body: Document = {"content": text}
        if self.dialect == "vllm":
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        return len(self._measured("/tokenize", body, "counting", called_off=called_off)["tokens"])

    def warm(self, chat: Sequence[Message], called_off: threading.Event | None = None) -> None:
        """Ask for one token, since a server caches prompts only by use; raises as `send`."""
        body = self.prompt(chat) | {"temperature": 0, "max_tokens": 1}
        self._measured(CHAT, body, "warming", called_off=called_off)

    def post(self, path: str, body: Document, **how: Unpack[Sent]) -> Document:
        """See `Engine.post`. Raises MenuBeingRead where the embedded engine reads a menu in pieces, and this
        was not the last."""
        return self._measured(path, body, "decode_request", **how)

    def _measured(self, path: str, body: Document, name: str, **how: Unpack[Sent]) -> Document:
        at = httpx.URL(self.url)
        about: tracing.Attributes = {
            "http.request.method": "POST",
            "server.address": at.host,
            "server.port": at.port or (443 if at.scheme == "https" else 80),
        }
        with tracing.span(f"POST {path}", about, kind="client"), measures.engine_took(name):
            how["headers"] = tracing.headers()
            answer = self.send(path, body, **how)
            tracing.note({"http.response.status_code": answer.status_code})
            document = document_of(answer)
        if reading := document.get(MenuBeingRead.code):
            raise MenuBeingRead("The menu is new to the reader", wait_s=float(reading["wait_s"]))
        return document
