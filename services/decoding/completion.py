"""A decode server as this service asks it: measured, traced, and with this service's errors.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Unpack

import httpx

from infra.observability import tracing
from infra.observability.measures import engine_took
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
from services.clients.masked.saycart_masked import errors
from services.clients.masked.saycart_masked.engine import CHAT, Engine, document_of
from services.clients.masked.saycart_masked.types import Document, Message, Sent

_OURS: dict[type[errors.MaskedCallError], type[EngineError]] = {
    errors.ServerUnavailable: EngineUnavailable,
    errors.RequestRefused: EngineMisconfigured,
    errors.AnswerTruncated: DecodeTruncated,
    errors.OutsideMask: DecodeInvalid,
    errors.CallCancelled: DecodeCancelled,
}
_MEASURED_AS = {"/tokenize": "counting"}


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise the package's errors in the block as this service's."""
    try:
        yield
    except errors.AnswerRejected as error:
        raise AnswerRefused(error.problems, quoted=error.quoted) from None
    except errors.MaskedCallError as error:
        raise _OURS[type(error)](error.detail, quoted=error.quoted) from error


class Completions(Engine):
    """An engine whose requests are measured and traced."""

    def warm(self, chat: Sequence[Message], called_off: threading.Event | None = None) -> None:
        """Ask for one token, since a server caches prompts only by use; raises as `send`."""
        body = self.prompt(chat) | {"temperature": 0, "max_tokens": 1}
        self._measured(CHAT, body, "warming", called_off=called_off)

    def post(self, path: str, body: Document, **how: Unpack[Sent]) -> Document:
        """See `Engine.post`. Raises MenuBeingRead where the embedded engine reads a menu in pieces, and this
        was not the last."""
        return self._measured(path, body, _MEASURED_AS.get(path, "decode_request"), **how)

    def _measured(self, path: str, body: Document, name: str, **how: Unpack[Sent]) -> Document:
        at = httpx.URL(self.url)
        about: tracing.Attributes = {
            "http.request.method": "POST",
            "server.address": at.host,
            "server.port": at.port or (443 if at.scheme == "https" else 80),
        }
        with tracing.span(f"POST {path}", about, kind="client"), engine_took(name):
            how["headers"] = tracing.headers()
            answer = self.send(path, body, **how)
            tracing.note({"http.response.status_code": answer.status_code})
            document = document_of(answer)
        if reading := document.get(MenuBeingRead.code):
            raise MenuBeingRead("The menu is new to the reader", wait_s=float(reading["wait_s"]))
        return document
