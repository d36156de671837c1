"""The decoder: one client for any OpenAI-compatible server with guided decoding.

Orders are asked by `reading.py`, masked calls of any other kind by `completion.py`.

A server proves its mask before it is trusted, and is waited for while it is away. It has to pass the probe
before its first order, and before the first after an outage: a server that was restarted without guided
decoding would answer 200 and ignore the mask. Of several servers behind one address the probe reaches one;
each answer is held against its mask, whichever server wrote it.
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
from services.decoding import reading
from services.decoding.completion import Completions, counted, our_errors
from services.decoding.ports import CartRequest, Reading
from services.decoding.prompt import context_of
from services.decoding.wire_mask import PROBE, PROBE_ANSWER

log = structlog.get_logger()

Answered = TypeVar("Answered")

PROBE_S = 60.0
"""The probe waits its turn behind the orders and prompts that a busy server has."""
HEALTH_S = 2.0
AWAY_S, LOOK_S = 10.0, 0.5
"""An order in hand waits this long for a server that failed, looking this often: it may have died and be
loading its model. Handed back at once, all that wait would use up their tries within seconds."""
_HELLO: list[Message] = [{"role": "user", "content": "Say: hello"}]


class OpenAIDecoder:
    """`CartDecoder` over HTTP, against one address.

    Args:
        url: base of the server, without `/v1`.
        dialect: `llama.cpp` or `vllm`.
        model: name to ask for; also stands for the tokenizer in the mask's version.
        timeout_s: of one whole decode.
        adapter: name of the trained adapter, where the server may have it.
        order_tokens: the most that a customer's words may take, and half of what the answer of a trained
            model may; 0: any number.
        patience_s: a call that failed is tried once more unless it took longer, since the stage has a time
            limit too.
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
        self._has_reader: bool | None = None if adapter else False
        # Failures, and their count when the last probe that passed began: one meanwhile makes it void.
        self._failures, self._proved_at, self._probing = 0, -1, threading.Lock()

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        """See `CartDecoder.decode`; also raises as `probe`."""
        return self._ask(lambda: self._decode(asked, called_off), called_off)

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """Return an answer to any chat and mask within `timeout_s`, in two tries; raises as `decode`."""
        until = time.monotonic() + (how.get("timeout_s") or math.inf)

        def act() -> Completed:
            if until < math.inf:
                how["timeout_s"] = max(LEAST_S, until - time.monotonic())
            with tracing.span("masked"), our_errors():
                return counted("masked", self._base.complete(chat, mask, **how))

        return self._ask(act, how.get("called_off"), until)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. The proof comes first: the first order would else have to wait for it."""

        @our_errors()
        def act() -> None:
            model = self._model
            chat = context_of(menu).messages(CartRequest("hello", menu), trained=bool(model.adapter))
            model.warm(chat, called_off)

        self._try(act)

    def prove(self, timeout_s: float = PROBE_S) -> None:
        """Probe the server unless it passed before; raises as `probe`."""
        with self._probing:  # of many orders that begin at once, one asks
            if self._proved_at != self._failures:
                failures = self._failures
                self.probe(timeout_s)
                self._proved_at = failures
                log.info("decoder.proved", url=self.url)

    @our_errors()
    def probe(self, timeout_s: float | None = None) -> None:
        """Ask for an answer that no free model would give, under a mask that allows nothing else.

        Raises:
            EngineMisconfigured: the server answered without the mask.
            EngineUnavailable: it did not answer, or not within `timeout_s` seconds.
        """
        # With the reader's adapter: llama.cpp forgets a menu's prompt where a slot goes from one to none.
        model = self._model if self._base.dialect == "llama.cpp" else self._base
        try:
            text, _ = model.whole(_HELLO, PROBE, timeout_s=timeout_s)
        except AnswerTruncated:
            text = ""
        if text != PROBE_ANSWER:
            raise EngineMisconfigured(f"The decode server ignores the mask: it said {text[:40]!r}")

    @our_errors()
    def answer(self, lark: str, longest: int) -> str:
        """Return a text of this grammar, not held against it; for checks of an engine. Raises as `decode`."""
        return self._base.whole(_HELLO, Mask(lark, "check", longest))[0]

    def state(self, timeout_s: float) -> str:
        """Return `ok`, or what is wrong with it. One that is only too busy for the probe is well."""
        if (health := self.health()) != "ok":
            self._failures += 1
            return health
        try:
            self.prove(timeout_s)
        except EngineMisconfigured as error:
            self._failed(error)
            return "refused: it answers without the mask"
        except EngineUnavailable as error:
            log.info("decoder.busy", url=self.url, error=error.detail)
        return "ok"

    def health(self) -> str:
        """`ok`, or what its `/health` says instead."""
        try:
            answer = httpx.get(f"{self.url}/health", timeout=HEALTH_S, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            return "no answer"
        return "ok" if answer.is_success else f"answers {answer.status_code}"

    @tracing.span("decode")
    @our_errors()
    def _decode(self, asked: CartRequest, called_off: threading.Event | None) -> Reading:
        """A server that does not say whether it has the adapter is unavailable: no order goes to the base
        model because a server was busy."""
        model = self._model
        if self._has_reader is None:
            raise EngineUnavailable("The decode server did not say whether it has the trained adapter")
        for words in (asked.transcript, asked.second):
            self._check_budget(words, called_off)
        with measures.engine_took("decoder"):
            return reading.read(
                asked,
                context_of(asked.menu),
                model,
                score=True,
                timeout_s=self._timeout_s,
                called_off=called_off,
                most=2 * self._order_tokens if model.adapter else 0,
            )

    def _check_budget(self, words: str, called_off: threading.Event | None) -> None:
        """A model's time goes by tokens, and characters say little about these: 1,990 characters of many-byte
        signs are 2,000 tokens, a minute of a small machine; an order of sixty words has 79. They are counted
        only where it can matter: the tokenizers are byte-level, so a text never has more tokens than bytes.

        Raises:
            TooMuchToRead: the words don't fit.
            EngineError: as `Completions.count`, where the server had to be asked.
        """
        text, most = writable(words), self._order_tokens
        if not most or len(text.encode()) <= most:
            return
        if (count := self._base.count(text, called_off)) > most:
            raise TooMuchToRead(
                f"The words take {count} tokens of the model, and an order may take {most}",
                hint="Ask for a shorter order, or raise SAYCART_ORDER_TOKENS.",
            )

    @property
    def _model(self) -> Completions:
        """The trained model where the server has it; it is asked until it answers."""
        if self._has_reader is None:
            self._has_reader = self._trained.is_loaded()
        return self._trained if self._has_reader else self._base

    def _ask(
        self, act: Callable[[], Answered], called_off: threading.Event | None, until: float = math.inf
    ) -> Answered:
        last = min(until, time.monotonic() + self._patience_s)
        try:
            return self._try(act, until)
        except EngineUnavailable:
            if time.monotonic() > last or not self._comes_back(called_off, until):
                raise
        return self._try(act, until)

    def _try(self, act: Callable[[], Answered], until: float = math.inf) -> Answered:
        try:
            self.prove(max(LEAST_S, min(PROBE_S, until - time.monotonic())))
            return act()
        except EngineMisconfigured as error:
            if self._proved_at != self._failures:  # one that passed refuses this order alone
                self._failed(error)
            raise
        except (EngineUnavailable, DecodeInvalid) as error:
            self._failed(error)
            raise

    def _failed(self, error: EngineError) -> None:
        """Trust it only after another probe."""
        self._failures += 1
        self._has_reader = None if self._trained.adapter else False  # another may have taken its place
        log.warning("decoder.failed", url=self.url, code=error.code, error=error.detail)

    def _comes_back(self, called_off: threading.Event | None, until: float) -> bool:
        """Wait until the server is healthy; False if it isn't in time, or the call is cancelled."""
        cancelled, until = called_off or threading.Event(), min(until, time.monotonic() + AWAY_S)
        while time.monotonic() < until and not cancelled.wait(LOOK_S):
            if self.health() == "ok":
                return True
        return False
