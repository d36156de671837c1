"""One masked chat completion: what a request says to each kind of server, and what its answer is worth.

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

from infra.observability import measures, tracing
from schemas.errors import (
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from services.decoding import unmasked
from services.decoding.calls import LEAST_S, Calls
from services.decoding.mask import Mask, compiles
from services.decoding.ports import GREEDY, Completed, Message, Sampling, Scored

log = structlog.get_logger()

CHAT = "/v1/chat/completions"
ROOM = 8
"""Tokens beyond the longest answer: the end itself is one."""
MOST_ASKED = 4_096
"""Tokens that vLLM is asked for. It refuses a request for more than its whole context (400), though an answer
may be far shorter than the longest; asked for nothing, it goes on to the end of its context."""

Document = dict[str, Any]


class How(TypedDict, total=False):
    """What may be said of one completion beside chat and mask.

    `score` has the answer scored without the mask as well. Setting `called_off`, from any thread, ends it:
    the request is closed and the server stops. `timeout_s` is for this one answer, in place of the usual.
    """

    sampling: Sampling
    score: bool
    called_off: threading.Event | None
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions by the model that the server behind `calls` runs; `dialect` is `llama.cpp` or `vllm`.

    Raises:
        EngineMisconfigured: another dialect.
    """

    calls: Calls
    dialect: str
    model: str

    def __post_init__(self) -> None:
        if self.dialect not in ("llama.cpp", "vllm"):
            raise EngineMisconfigured(
                f"Unknown decoder dialect {self.dialect!r}", hint="Use `llama.cpp` or `vllm`."
            )

    @property
    def engine(self) -> str:
        """Names server and model on what they made."""
        return f"{self.dialect}:{self.model}"

    @tracing.traced("masked")
    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """The whole answer, once it is held against `mask`; nothing is streamed.

        Raises:
            DecodeCancelled: it was called off.
            EngineUnavailable: refused, timed out or 5xx.
            EngineMisconfigured: the server refused the request.
            DecodeTruncated: the server stopped before the answer was whole; the text is not parsed.
            DecodeInvalid: the mask does not compile, or the text is outside it: the server did not apply it.
        """
        started = time.perf_counter()
        within = how.get("timeout_s")
        text, document = self.whole(chat, mask, **how)
        with measures.mask_took("check"):
            accepted = mask.accepts(text)
        if not accepted:
            raise DecodeInvalid("The server's answer is outside the mask", quoted=text[:200])
        scored = None
        if how.get("score"):
            left = None if within is None else max(LEAST_S, within - (time.perf_counter() - started))
            scored = self.scored(text, document, how.get("called_off"), left)
        completed = Completed(
            text=text,
            engine=self.engine,
            grammar=mask.version,
            seconds=time.perf_counter() - started,
            scored=scored,
            **told(document),
        )
        measures.tokens(
            "masked",
            prompt=completed.prompt_tokens,
            cached=completed.cached_tokens,
            completion=completed.completion_tokens,
            overruled=sum(scored.overruled.values()) if scored else None,
        )
        return completed

    def whole(
        self, chat: Sequence[Message], mask: Mask, more: Document | None = None, **how: Unpack[How]
    ) -> tuple[str, Document]:
        """The text of a whole answer, not yet held against the mask, and the document that it came in;
        `more` goes into the request.

        Raises: as `complete`.
        """
        compiles(mask)
        body = self.request(chat, mask, mask.longest + ROOM, sampling=how.get("sampling", GREEDY))
        body |= more or {}
        if how.get("score"):
            body |= unmasked.asked(self.dialect)
        answer = self.calls.post(CHAT, body, called_off=how.get("called_off"), timeout_s=how.get("timeout_s"))
        text, reason = said(answer)
        if reason != "stop":
            raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
        return text, answer

    def request(
        self,
        chat: Sequence[Message],
        mask: Mask,
        tokens: int,
        beginning: str = "",
        *,
        sampling: Sampling = GREEDY,
    ) -> Document:
        """The body of a request for at most so many `tokens` after the `beginning` of an answer."""
        body: Document = {"model": self.model, "messages": list(chat), "temperature": sampling.temperature}
        vllm = self.dialect == "vllm"
        if not vllm or tokens <= MOST_ASKED:
            body["max_tokens"] = tokens
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if beginning:
            body["messages"].append({"role": "assistant", "content": beginning})
            if self.dialect == "vllm":
                body |= {"add_generation_prompt": False, "continue_final_message": True}
        return body | constraint(self.dialect, mask.lark)

    def scored(
        self,
        text: str,
        answer: Document,
        called_off: threading.Event | None,
        timeout_s: float | None = None,
    ) -> Scored | None:
        """The answer's scores; None where scoring fails or takes over `timeout_s`, since the answer is good
        without them."""
        try:
            if self.dialect == "llama.cpp":
                return unmasked.score(text, unmasked.written(answer))
            prompt, made = answer["prompt_token_ids"], answer["choices"][0]["token_ids"]
            body = unmasked.request(self.model, prompt, made)
            document = self.calls.post("/v1/completions", body, called_off=called_off, timeout_s=timeout_s)
            return unmasked.score(text, unmasked.read(document, made))
        except DecodeCancelled:
            raise
        except (EngineError, KeyError, IndexError, TypeError, ValueError) as error:
            log.warning("decode.not_scored", error=type(error).__name__)
            return None


def constraint(dialect: str, lark: str) -> Document:
    """The fields of a request by which a server of the dialect takes a grammar."""
    if dialect == "vllm":
        return {"structured_outputs": {"grammar": lark}}
    return {"grammar": lark, "cache_prompt": True}


def said(document: Document) -> tuple[str, str]:
    """Text and reason of the end.

    Raises:
        EngineUnavailable: the document is no completion.
    """
    try:
        choice = document["choices"][0]
        return choice["message"]["content"] or "", choice["finish_reason"]
    except (KeyError, IndexError, TypeError):
        raise EngineUnavailable("The decode server sent no completion", quoted=f"{document!r:.200}") from None


def told(*documents: Document) -> dict[str, int]:
    """Tokens of an answer that came in these documents: of the first prompt, and of all that was written."""
    used = [document.get("usage") or {} for document in documents]
    prompt = used[0] if used else {}
    return {
        "prompt_tokens": int(prompt.get("prompt_tokens", 0)),
        "completion_tokens": sum(int(usage.get("completion_tokens", 0)) for usage in used),
        "cached_tokens": int((prompt.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
    }
