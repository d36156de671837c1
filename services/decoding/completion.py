"""Masked chat completions by one model: what a request says to each kind of server, and what comes back.

vLLM (backend `guidance`) takes the grammar as `structured_outputs`, llama.cpp's server as `grammar`; the
rest of the request is the same. Both have a way to drop a constraint in silence (llama.cpp answers 200
with free text when a grammar does not compile; vLLM ignores unknown request fields), so each grammar is
compiled here first, and each answer has to be checked against it.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import structlog

from schemas.errors import (
    DecodeCancelled,
    DecodeTruncated,
    EngineError,
    EngineUnavailable,
    MenuBeingRead,
)
from services.decoding import unmasked
from services.decoding.calls import LEAST_S, Calls
from services.decoding.mask import Mask
from services.decoding.ports import GREEDY, Completed, Message, Sampling, Token

log = structlog.get_logger()

CHAT = "/v1/chat/completions"
TOKENIZE = "/tokenize"
ADAPTER = 0
"""Of the adapters that a llama.cpp server has loaded, ours is the first."""
ROOM = 8
"""Tokens beyond the longest answer: the end itself is one."""
MOST_ASKED = 4_096
"""Tokens that vLLM is asked for. It refuses a request for more than its whole context (400), though an answer
may be far shorter than the longest; asked for nothing, it goes on to the end of its context."""

Document = dict[str, Any]


class How(TypedDict, total=False):
    """What may be said of one completion besides chat and mask.

    `score` has the answer scored without the mask as well. Setting `called_off`, from any thread, ends it:
    the request is closed and the server stops. `timeout_s` is for this one answer, in place of the usual.
    """

    sampling: Sampling
    score: bool
    called_off: threading.Event | None
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions by the model that the server behind `calls` runs; `dialect` is `llama.cpp` or `vllm`, and
    `adapter` is empty where the base model is to answer as it is."""

    calls: Calls
    dialect: str
    model: str
    adapter: str = ""

    @property
    def engine(self) -> str:
        """Names server and model on what they made."""
        return f"{self.dialect}:{self.adapter or self.model}"

    def complete(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> Completed:
        """The whole answer, once it is held against `mask`; nothing is streamed. `more` is for the request.

        Raises:
            DecodeCancelled: it was called off.
            EngineUnavailable: refused, timed out or 5xx.
            EngineMisconfigured: the server refused the request.
            DecodeTruncated: the server stopped before the answer was whole; the text is not parsed.
            DecodeInvalid: the mask does not compile, or the text is outside it: the server did not apply it.
            MenuBeingRead: the menu is read in pieces, and this was not the last.
        """
        started = time.perf_counter()
        text, document = self.whole(chat, mask, more, **how)
        mask.check(text)
        return Completed(
            text=text,
            engine=self.engine,
            grammar=mask.version,
            tokens=self._tokens(document, started, **how) if how.get("score") else None,
            seconds=time.perf_counter() - started,
            **_usage(document),
        )

    def whole(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> tuple[str, Document]:
        """The text of a whole answer, not yet held against the mask, and the document that it came in.
        Raises as `complete`."""
        mask.compile()
        body = self.request(chat, mask, mask.longest + ROOM, sampling=how.get("sampling", GREEDY))
        if how.get("score"):
            body |= unmasked.score_fields(self.dialect)
        body |= more or {}
        answer = self.calls.post(CHAT, body, called_off=how.get("called_off"), timeout_s=how.get("timeout_s"))
        text, reason = text_and_end(answer)
        if reason != "stop":
            raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
        return text, answer

    def request(
        self, chat: Sequence[Message], mask: Mask, tokens: int, *, sampling: Sampling = GREEDY
    ) -> Document:
        """The body of a request for an answer of at most so many `tokens`."""
        body = self.prompt(chat) | {"temperature": sampling.temperature}
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if self.dialect == "vllm":
            limit = {"max_tokens": tokens} if tokens <= MOST_ASKED else {}
            return body | limit | {"structured_outputs": {"grammar": mask.lark}}
        return body | {"max_tokens": tokens, "grammar": mask.lark}

    def prompt(self, chat: Sequence[Message]) -> Document:
        """A request without a mask, which is all that warming a server's cache takes."""
        if self.dialect == "vllm":
            return {"messages": list(chat), "model": self.adapter or self.model}
        lora = {"lora": [{"id": ADAPTER, "scale": 1.0}]} if self.adapter else {}
        return {"messages": list(chat), "model": self.model, "cache_prompt": True} | lora

    def count(self, text: str, called_off: threading.Event | None = None) -> int:
        """The number of a text's tokens, by the server's own tokenizer; raises as `Calls.post`."""
        body: Document = {"content": text}
        if self.dialect == "vllm":
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        counted = self.calls.post(TOKENIZE, body, called_off=called_off, measured_as="counting")
        return len(counted["tokens"])

    def _tokens(self, answer: Document, started: float, **how: Unpack[How]) -> tuple[Token, ...] | None:
        """The tokens of a whole answer with their scores, for which vLLM is asked once more, within what is
        left of the time; None where that fails, since the answer is good without them."""
        timeout_s = how.get("timeout_s")
        if timeout_s is not None:
            timeout_s = max(LEAST_S, timeout_s - (time.perf_counter() - started))
        try:
            if self.dialect == "llama.cpp":
                return tuple(unmasked.written(answer))
            written = answer["choices"][0]["token_ids"]
            body = unmasked.request(self.adapter or self.model, answer["prompt_token_ids"], written)
            scores = self.calls.post(
                "/v1/completions", body, called_off=how.get("called_off"), timeout_s=timeout_s
            )
            return tuple(unmasked.read(scores, written))
        except DecodeCancelled:
            raise
        except (EngineError, AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            log.warning("decode.not_scored", error=type(error).__name__)
            return None


def text_and_end(document: Document) -> tuple[str, str]:
    """Text and reason of the end.

    Raises:
        EngineUnavailable: the document is no completion.
        MenuBeingRead: a piece of the menu was read, and it was not the last.
    """
    try:
        if reading := document.get(MenuBeingRead.code):
            raise MenuBeingRead("The menu is new to the reader", wait_s=float(reading["wait_s"]))
        choice = document["choices"][0]
        return choice["message"]["content"] or "", choice["finish_reason"]
    except (AttributeError, KeyError, IndexError, TypeError):
        raise EngineUnavailable("The decode server sent no completion", quoted=f"{document!r:.200}") from None


def _usage(document: Document) -> dict[str, int]:
    """The tokens of an answer's prompt, those that were cached, and those of the answer."""
    used = document.get("usage") or {}
    return {
        "prompt_tokens": int(used.get("prompt_tokens", 0)),
        "completion_tokens": int(used.get("completion_tokens", 0)),
        "cached_tokens": int((used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
    }
