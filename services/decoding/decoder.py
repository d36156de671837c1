"""The decoder: one client for any OpenAI-compatible server with guided decoding.

A server must pass a probe of its mask before its first order, and again after each failure: one that was
restarted without guided decoding would answer 200 and ignore the mask. Behind a load balancer the probe
reaches one server only; therefore each answer is checked against its mask as well.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar, Unpack

import httpx
import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    DecodeInvalid,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
    TooMuchToRead,
)
from schemas.menu import Menu
from schemas.writable import writable
from services.clients.masked.saycart_masked import AnswerTruncated, Completed, How, Mask, Message
from services.clients.masked.saycart_masked.engine import LEAST_S
from services.decoding.completion import Completions, record_usage, translated_errors
from services.decoding.decode_cart import decode_cart
from services.decoding.ports import CartRequest, DecodedCart
from services.decoding.prompt import context_of
from services.decoding.wire_mask import PROBE, PROBE_ANSWER

log = structlog.get_logger()

T = TypeVar("T")

PROBE_S = 60.0
"""Timeout of the probe, which queues behind the orders and prompts of a busy server."""
HEALTH_S = 2.0
RECOVERY_S, POLL_S = 10.0, 0.5
"""How long an order waits for a failed server, which may be restarting, and how often it checks. If it were
handed back at once, its retries would be used up within seconds."""
_HELLO: list[Message] = [{"role": "user", "content": "Say: hello"}]


class OpenAIDecoder:
    """`CartDecoder` over HTTP.

    Args:
        url: base of the server, without `/v1`.
        dialect: `llama.cpp` or `vllm`.
        model: the served name.
        timeout_s: limit of one decode.
        adapter: name of the trained adapter, which the server may have.
        order_tokens: token budget of a transcript, and half of the trained model's answer; 0: unlimited.
        patience_s: a call that failed within this time is retried once; the stage has its own time limit.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str,
        model: str,
        timeout_s: float = 120.0,
        api_key: str = "",
        adapter: str = "",
        order_tokens: int = 0,
        patience_s: float = 0.0,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout_s, self._order_tokens, self._patience_s = timeout_s, order_tokens, patience_s
        self._base = Completions(url, dialect=dialect, model=model, timeout_s=timeout_s, api_key=api_key)
        self._trained = self._base.with_adapter(adapter)
        self._has_adapter: bool | None = None if adapter else False
        # The number of failures, and its value when the last passed probe began: a later failure voids it.
        self._failures, self._verified_at, self._probing = 0, -1, threading.Lock()

    def decode(self, request: CartRequest, called_off: threading.Event | None = None) -> DecodedCart:
        """See `CartDecoder.decode`; also raises as `probe`."""
        return self._with_retry(lambda: self._decode(request, called_off), called_off)

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """Return the answer to any chat and mask, retried once within `timeout_s`; raises as `decode`."""
        deadline = time.monotonic() + (how.get("timeout_s") or math.inf)

        def call() -> Completed:
            if deadline < math.inf:
                how["timeout_s"] = max(LEAST_S, deadline - time.monotonic())
            with tracing.span("masked"), translated_errors():
                return record_usage("masked", self._base.complete(chat, mask, **how))

        return self._with_retry(call, how.get("called_off"), deadline)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. Probes the server first, so that no order has to wait for the probe."""

        @translated_errors()
        def call() -> None:
            model = self._model
            chat = context_of(menu).messages(CartRequest("hello", menu), trained=bool(model.adapter))
            model.warm(chat, called_off)

        self._attempt(call)

    def verify(self, timeout_s: float = PROBE_S) -> None:
        """Probe the server if it has failed since the last probe; raises as `probe`."""
        with self._probing:  # concurrent orders share one probe
            if self._verified_at != self._failures:
                failures = self._failures
                self.probe(timeout_s)
                self._verified_at = failures
                log.info("decoder.proved", url=self.url)

    @translated_errors()
    def probe(self, timeout_s: float | None = None) -> None:
        """Request an answer that no model would give unless the mask forced it.

        Raises:
            EngineMisconfigured: the server answered without the mask.
            EngineUnavailable: it did not answer within `timeout_s` seconds.
        """
        # With the adapter: llama.cpp drops a slot's cached prompt when the adapter changes.
        model = self._model if self._base.dialect == "llama.cpp" else self._base
        try:
            text, _ = model.whole(_HELLO, PROBE, timeout_s=timeout_s)
        except AnswerTruncated:
            text = ""
        if text != PROBE_ANSWER:
            raise EngineMisconfigured(f"The decode server ignores the mask: it answered {text[:40]!r}")

    @translated_errors()
    def complete_unchecked(self, lark: str, longest: int) -> str:
        """Return an answer under a grammar without checking it, to test an engine; raises as `decode`."""
        return self._base.whole(_HELLO, Mask(lark, "check", longest))[0]

    def status(self, timeout_s: float) -> str:
        """Return `ok` or the problem. A server that is only too busy for the probe is ok."""
        if (health := self.health()) != "ok":
            self._failures += 1
            return health
        try:
            self.verify(timeout_s)
        except EngineMisconfigured as error:
            self._record_failure(error)
            return "refused: it answers without the mask"
        except EngineUnavailable as error:
            log.info("decoder.busy", url=self.url, error=error.detail)
        return "ok"

    def health(self) -> str:
        """Return `ok`, or what `/health` answers instead."""
        try:
            answer = httpx.get(f"{self.url}/health", timeout=HEALTH_S, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            return "no answer"
        return "ok" if answer.is_success else f"answers {answer.status_code}"

    @tracing.span("decode")
    @translated_errors()
    def _decode(self, request: CartRequest, called_off: threading.Event | None) -> DecodedCart:
        # No order goes to the base model only because the server was too busy to list its adapters.
        model = self._model
        if self._has_adapter is None:
            raise EngineUnavailable("The decode server did not say whether it has the trained adapter")
        for transcript in (request.transcript, request.second):
            self._check_budget(transcript, called_off)
        with measures.time_engine("decoder"):
            how: How = {"score": True, "timeout_s": self._timeout_s, "called_off": called_off}
            return decode_cart(request, model, 2 * self._order_tokens if model.adapter else 0, **how)

    def _check_budget(self, transcript: str, called_off: threading.Event | None) -> None:
        """Check a transcript against the token budget.

        Decoding time depends on tokens, and characters say little about them: an order of sixty words has 79
        tokens, 1,990 rare characters have 2,000. The tokenizers are byte-level, so a text never has more
        tokens than bytes, and few texts have to be counted.

        Raises:
            TooMuchToRead: the transcript exceeds the budget.
            EngineError: as `Completions.count`.
        """
        text, budget = writable(transcript), self._order_tokens
        if not budget or len(text.encode()) <= budget:
            return
        if (count := self._base.count(text, called_off)) > budget:
            raise TooMuchToRead(
                f"The transcript has {count} tokens; an order may have {budget}",
                hint="Ask for a shorter order, or raise SAYCART_ORDER_TOKENS.",
            )

    @property
    def _model(self) -> Completions:
        """The trained model if the server has it; the server is asked until it answers."""
        if self._has_adapter is None:
            self._has_adapter = self._trained.has_adapter()
        return self._trained if self._has_adapter else self._base

    def _with_retry(
        self, call: Callable[[], T], called_off: threading.Event | None, deadline: float = math.inf
    ) -> T:
        last = min(deadline, time.monotonic() + self._patience_s)
        try:
            return self._attempt(call, deadline)
        except EngineUnavailable:
            if time.monotonic() > last or not self._recovers(called_off, deadline):
                raise
        return self._attempt(call, deadline)

    def _attempt(self, call: Callable[[], T], deadline: float = math.inf) -> T:
        try:
            self.verify(max(LEAST_S, min(PROBE_S, deadline - time.monotonic())))
            return call()
        except EngineMisconfigured as error:
            if self._verified_at != self._failures:  # a verified server rejects only this request
                self._record_failure(error)
            raise
        except (EngineUnavailable, DecodeInvalid) as error:
            self._record_failure(error)
            raise

    def _record_failure(self, error: EngineError) -> None:
        """Require another probe, and look for the adapter again: another server may have taken its place."""
        self._failures += 1
        self._has_adapter = None if self._trained.adapter else False
        log.warning("decoder.failed", url=self.url, code=error.code, error=error.detail)

    def _recovers(self, called_off: threading.Event | None, deadline: float) -> bool:
        """Wait until the server is healthy; return False after `RECOVERY_S`, or if the call is cancelled."""
        cancelled, deadline = called_off or threading.Event(), min(deadline, time.monotonic() + RECOVERY_S)
        while time.monotonic() < deadline and not cancelled.wait(POLL_S):
            if self.health() == "ok":
                return True
        return False
