"""Chat completions under a mask, by llama.cpp's server or by vLLM.

vLLM (backend `guidance`) takes the grammar as `structured_outputs`, llama.cpp as `grammar`; the rest of the
request is the same. Both may drop a constraint silently (llama.cpp answers 200 with free text when a grammar
does not compile; vLLM ignores unknown fields), so each grammar is compiled here first, and each answer is
checked against it. Nothing is streamed.

A blocking HTTP client can't be stopped by another thread. So requests run on one event loop in a thread of
its own, shared by all engines of a process, and the caller waits. A cancelled request closes its connection,
upon which both servers stop decoding.
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
"""The least time that a request gets of a time that is used up."""
IDLE_S = 2.0
"""After so long a connection is not reused: vLLM and llama.cpp close one that was idle for 5 s, and a request
that is sent at that moment is lost without an answer."""
POLL_S = 0.1
"""How often a waiting caller checks `called_off`."""
ROOM = 8
"""Tokens beyond the longest answer: the end itself is one."""
MOST_ASKED = 4_096
"""The most tokens that vLLM is asked for: it refuses a request for more than its context (400), however short
the answer would be. Not asked for a number, it goes on to the end of its context."""


class Sent(TypedDict, total=False):
    """Options of one request."""

    called_off: threading.Event | None
    timeout_s: float | None
    headers: Mapping[str, str]


class Engine:
    """A model on one server.

    Args:
        url: base of the server, without `/v1`.
        model: name to ask for.
        dialect: `llama.cpp` or `vllm`.
        timeout_s: of one request, however it ends.
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
        """Return the whole answer, checked against `mask`. `more` are further fields of the request.

        Raises:
            CallCancelled: `called_off` was set.
            ServerUnavailable: refused, timed out or 5xx.
            RequestRefused: any other 4xx.
            AnswerTruncated: the server stopped before the answer was whole.
            OutsideMask: the mask does not compile, or the server did not apply it.
        """
        began = time.perf_counter()
        text, document = self.whole(chat, mask, more, **how)
        if not mask.accepts(text):
            raise OutsideMask("The server's answer is outside the mask", quoted=text[:200])
        used = document.get("usage") or {}
        return Completed(
            text=text,
            engine=self.name,
            grammar=mask.version,
            prompt_tokens=int(used.get("prompt_tokens", 0)),
            completion_tokens=int(used.get("completion_tokens", 0)),
            cached_tokens=int((used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
            tokens=self._scored(document, began, **how) if how.get("score") else None,
            seconds=time.perf_counter() - began,
        )

    def whole(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> tuple[str, Document]:
        """Return a whole answer, not yet checked against the mask, and its document; raises as `complete`."""
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
        try:
            choice = document["choices"][0]
            text, reason = choice["message"]["content"] or "", choice["finish_reason"]
        except (KeyError, IndexError, TypeError):
            raise ServerUnavailable("The server sent no completion", quoted=f"{document!r:.200}") from None
        if reason != "stop":
            raise AnswerTruncated(f"The server stopped early: finish_reason {reason!r}")
        return text, document

    def prompt(self, chat: Sequence[Message]) -> Document:
        """Return a request without a mask, which is all that warming a server's cache takes."""
        cache = {} if self.dialect == "vllm" else {"cache_prompt": True}
        return {"messages": list(chat), "model": self.model} | cache

    def post(self, path: str, body: Document, **how: Unpack[Sent]) -> Document:
        """Return the answer's document; raises as `send` and `document_of`."""
        return document_of(self.send(path, body, **how))

    def send(self, path: str, body: Document, **how: Unpack[Sent]) -> httpx.Response:
        """Return the server's answer, whatever its status.

        Raises:
            ServerUnavailable: no answer in time.
            CallCancelled: `called_off` was set before the answer came; the connection is closed.
        """
        called_off, timeout_s = how.get("called_off"), how.get("timeout_s") or self._timeout_s
        sent = self._http.post(path, json=body, headers=how.get("headers"))
        request = asyncio.run_coroutine_threadsafe(asyncio.wait_for(sent, timeout_s), _loop())
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

    def _scored(self, answer: Document, began: float, **how: Unpack[How]) -> tuple[Token, ...] | None:
        """Return the scored tokens of a whole answer, for which vLLM is asked once more, within the rest of
        the time; None where that fails, since the answer is good without them."""
        timeout_s = how.get("timeout_s")
        if timeout_s is not None:
            timeout_s = max(LEAST_S, timeout_s - (time.perf_counter() - began))
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
    """Return the JSON object of an answer.

    Raises:
        ServerUnavailable: 408, 429 or 5xx, or no JSON object.
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
    """Return this process's loop. By process, since a thread does not survive a fork."""
    pid = os.getpid()
    with _ONE_LOOP:  # threads that start together share one: a client's connections belong to it
        if pid not in _LOOPS:
            _LOOPS[pid] = asyncio.new_event_loop()
            threading.Thread(target=_LOOPS[pid].run_forever, name="masked-calls", daemon=True).start()
        return _LOOPS[pid]
