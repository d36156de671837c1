"""Chat completions under a mask, by llama.cpp's server or vLLM.

vLLM (backend `guidance`) takes the grammar as `structured_outputs`, llama.cpp as `grammar`; the rest of the
request is the same. Both may drop a constraint silently (llama.cpp answers 200 with free text if a grammar
doesn't compile; vLLM ignores unknown fields), so each grammar is compiled here first, and each answer is
checked against it. Nothing is streamed.

A blocking HTTP client can't be stopped by another thread. So all engines of a process share an event loop in
its own thread, and the caller waits. Cancelling a request closes its connection, which makes both servers
stop decoding.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent import futures
from typing import Any, TypedDict, Unpack

import httpx
from llguidance import LLMatcher

from . import scores
from .call import Completed, How, Message
from .errors import (
    AnswerTruncated,
    CallCancelled,
    MaskedCallError,
    OutsideMask,
    RequestRefused,
    ServerUnavailable,
)
from .output import Mask
from .scores import Token

log = logging.getLogger(__name__)
Document = dict[str, Any]

CHAT = "/v1/chat/completions"
CONNECT_S = 5.0
LEAST_S = 0.01
"""The minimum timeout of a follow-up request when the time is used up."""
IDLE_S = 2.0
"""Connections idle for longer are not reused: vLLM and llama.cpp close them after 5 s, and a request sent at
that moment is lost."""
POLL_S = 0.1
"""How often a waiting caller checks `called_off`."""
ROOM = 8
"""Tokens beyond the longest answer, including the end token."""
MOST_ASKED = 4_096
"""The largest `max_tokens` for vLLM, which refuses values beyond its context (400) even for short answers.
Without `max_tokens` it decodes to the end of its context."""


class Sent(TypedDict, total=False):
    """Options of one request."""

    called_off: threading.Event | None
    timeout_s: float | None
    headers: Mapping[str, str]


class Engine:
    """A model on one server.

    Args:
        url: the server's base URL, without `/v1`.
        model: the served name.
        dialect: `llama.cpp` or `vllm`.
        timeout_s: of one request.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        dialect: str = "llama.cpp",
        timeout_s: float = 120.0,
        api_key: str = "",
    ) -> None:
        self.url, self.model, self.dialect = url.rstrip("/"), model, dialect
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            trust_env=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=IDLE_S),
        )

    @property
    def name(self) -> str:
        """The server's kind and the model."""
        return f"{self.dialect}:{self.model}"

    def complete(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> Completed:
        """Return the complete answer, checked against `mask`. `more` has extra fields of the request.

        Raises:
            CallCancelled: `called_off` was set.
            ServerUnavailable: refused, timed out or 5xx.
            RequestRefused: any other 4xx.
            AnswerTruncated: the server stopped before the answer was complete.
            OutsideMask: the mask doesn't compile, or the server didn't apply it.
        """
        started = time.perf_counter()
        text, document = self.whole(chat, mask, more, **how)
        if not mask.accepts(text):
            raise OutsideMask("The server's answer is outside the mask", quoted=text[:200])
        usage = document.get("usage") or {}
        return Completed(
            text=text,
            engine=self.name,
            grammar=mask.version,
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            completion_tokens=int(usage.get("completion_tokens") or 0),
            cached_tokens=int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
            tokens=self._scored(document, started, **how) if how.get("score") else None,
            seconds=time.perf_counter() - started,
        )

    def whole(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> tuple[str, Document]:
        """Return the complete answer, not yet checked against the mask, and the response; raises as
        `complete`."""
        if problem := LLMatcher.validate_grammar(mask.lark):
            raise OutsideMask("The mask does not compile", quoted=problem[:300])
        body = self.prompt(chat) | {"temperature": how.get("temperature", 0.0)}
        if how.get("seed") is not None:
            body["seed"] = how["seed"]
        if self.dialect == "vllm":
            body["structured_outputs"] = {"grammar": mask.lark}
        else:
            body["grammar"] = mask.lark
        if self.dialect != "vllm" or mask.longest + ROOM <= MOST_ASKED:
            body["max_tokens"] = mask.longest + ROOM
        if how.get("score"):
            body |= scores.score_fields(self.dialect)
        document = self.post(
            CHAT, body | (more or {}), called_off=how.get("called_off"), timeout_s=how.get("timeout_s")
        )
        text, reason = _completion(document)
        if reason != "stop":
            raise AnswerTruncated(f"The server stopped early: finish_reason {reason!r}")
        return text, document

    def prompt(self, chat: Sequence[Message]) -> Document:
        """Return a request without a mask, enough to warm a server's cache."""
        return {"messages": list(chat), "model": self.model}

    def post(self, path: str, body: Document, **how: Unpack[Sent]) -> Document:
        """Return the response's JSON; raises as `send` and `document_of`."""
        return document_of(self.send(path, body, **how))

    def send(self, path: str, body: Document, **how: Unpack[Sent]) -> httpx.Response:
        """Return the server's response, whatever its status.

        Raises:
            ServerUnavailable: no response in time.
            CallCancelled: `called_off` was set; the connection is closed.
        """
        called_off, timeout_s = how.get("called_off"), how.get("timeout_s") or self._timeout_s
        response = self._http.post(path, json=body, headers=how.get("headers"))
        request = asyncio.run_coroutine_threadsafe(asyncio.wait_for(response, timeout_s), _loop())
        while not futures.wait([request], POLL_S if called_off else None).done:
            if called_off and called_off.is_set():
                request.cancel()
                raise CallCancelled("The call was cancelled while the server decoded")
        try:
            return request.result()
        except TimeoutError as error:
            raise ServerUnavailable(f"The server did not answer within {timeout_s:g} s") from error
        except httpx.HTTPError as error:
            raise ServerUnavailable(f"The server did not answer: {error!r:.200}") from error

    def _scored(self, answer: Document, started: float, **how: Unpack[How]) -> tuple[Token, ...] | None:
        """Return the scored tokens of an answer; vLLM needs another request for them. None if that fails,
        since the answer is valid without scores."""
        timeout_s = how.get("timeout_s")
        if timeout_s is not None:
            timeout_s = max(LEAST_S, timeout_s - (time.perf_counter() - started))
        try:
            if self.dialect == "llama.cpp":
                return tuple(scores.llama_tokens(answer))
            ids = answer["choices"][0]["token_ids"]
            body = scores.vllm_request(self.model, answer["prompt_token_ids"], ids)
            scored = self.post("/v1/completions", body, called_off=how.get("called_off"), timeout_s=timeout_s)
            return tuple(scores.vllm_tokens(scored, ids))
        except CallCancelled:
            raise
        except (MaskedCallError, AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            log.warning("The answer could not be scored: %s", type(error).__name__)
            return None


def document_of(answer: httpx.Response) -> Document:
    """Return the JSON object of a response.

    Raises:
        ServerUnavailable: 408, 429 or 5xx, or not a JSON object.
        RequestRefused: any other 4xx.
    """
    status, quoted = answer.status_code, answer.text[:200]
    if status >= 500 or status in (408, 429):
        raise ServerUnavailable(f"The server answered {status}", quoted=quoted)
    if status >= 400:
        raise RequestRefused(f"The server refused the request ({status})", quoted=quoted)
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ServerUnavailable("The server sent no JSON object", quoted=quoted)
    return document


_ONE_LOOP = threading.Lock()
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}


def _loop() -> asyncio.AbstractEventLoop:
    """Return this process's event loop; threads don't survive a fork."""
    pid = os.getpid()
    with _ONE_LOOP:  # a client's connections belong to one loop, so threads must share it
        if pid not in _LOOPS:
            _LOOPS[pid] = asyncio.new_event_loop()
            threading.Thread(target=_LOOPS[pid].run_forever, name="masked-calls", daemon=True).start()
        return _LOOPS[pid]


def _completion(document: Document) -> tuple[str, object]:
    """Return a response's text and finish reason."""
    try:
        choice = document["choices"][0]
        text, reason = choice["message"]["content"] or "", choice["finish_reason"]
    except (KeyError, IndexError, TypeError):
        text = reason = None
    if not isinstance(text, str):
        raise ServerUnavailable("The server sent no completion", quoted=f"{document!r:.200}")
    return text, reason
