"""A decode server that proves its mask before it is trusted, and is waited for while it is away.

It has to pass the probe before its first order, and before the first after an outage: a server that was
restarted without guided decoding would answer 200 and ignore the mask. Of several servers behind one address
the probe reaches one; each answer is held against its mask, whichever server wrote it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar, Unpack

import structlog

from schemas.errors import DecodeInvalid, EngineError, EngineMisconfigured, EngineUnavailable
from schemas.menu import Menu
from services.clients.masked.saycart_masked import Completed, How, Mask, Message
from services.clients.masked.saycart_masked.engine import LEAST_S
from services.decoding.decoder import OpenAIDecoder
from services.decoding.ports import CartRequest, Reading

log = structlog.get_logger()

Answered = TypeVar("Answered")

AWAY_S, LOOK_S = 10.0, 0.5
"""An order in hand waits this long for a server that failed, looking this often: it may have died and be
loading its model. Handed back at once, all that wait would use up their tries within seconds."""
PROBE_S = 60.0
"""The probe waits its turn behind the orders and prompts that a busy server has."""


class ProvedDecoder:
    """`CartDecoder` over one address. A call that failed is tried once more, unless it took longer than
    `patience_s` seconds, since the stage has a time limit too."""

    def __init__(self, decoder: OpenAIDecoder, *, patience_s: float) -> None:
        self._decoder, self._patience_s = decoder, patience_s
        self._proved = False
        self._probing = threading.Lock()

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        """See `CartDecoder.decode`; also raises as `prove`."""
        return self._ask(lambda: self._decoder.decode(asked, called_off), called_off)

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """See `Completions.complete`; also raises as `prove`. Its `timeout_s` is of all that is done for the
        answer, the proof and the second try included."""
        until = time.monotonic() + (how.get("timeout_s") or math.inf)

        def act() -> Completed:
            if until < math.inf:
                how["timeout_s"] = max(LEAST_S, until - time.monotonic())
            return self._decoder.complete(chat, mask, **how)

        return self._ask(act, how.get("called_off"), until)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. The proof comes first: the first order would else have to wait for it."""
        self._try(lambda: self._decoder.warm(menu, called_off))

    def prove(self, timeout_s: float = PROBE_S) -> None:
        """Probe the server unless it passed before; raises as `OpenAIDecoder.probe`."""
        with self._probing:  # of many orders that begin at once, one asks
            if not self._proved:
                self._decoder.probe(timeout_s)
                self._proved = True
                log.info("decoder.proved", url=self._decoder.url)

    def state(self, timeout_s: float) -> str:
        """Return `ok`, or what is wrong with it. One that is only too busy for the probe is well."""
        if (health := self._decoder.health()) != "ok":
            self._proved = False
            return health
        try:
            self.prove(timeout_s)
        except EngineMisconfigured as error:
            self._failed(error)
            return "refused: it answers without the mask"
        except EngineUnavailable as error:
            log.info("decoder.busy", url=self._decoder.url, error=error.detail)
        return "ok"

    def _ask(
        self, act: Callable[[], Answered], called_off: threading.Event | None, until: float = math.inf
    ) -> Answered:
        last = min(until, time.monotonic() + self._patience_s)
        try:
            return self._try(act, until)
        except EngineUnavailable:
            if time.monotonic() > last or not self._comes_back(called_off):
                raise
        return self._try(act, until)

    def _try(self, act: Callable[[], Answered], until: float = math.inf) -> Answered:
        try:
            self.prove(max(LEAST_S, min(PROBE_S, until - time.monotonic())))
            return act()
        except EngineMisconfigured as error:
            if not self._proved:  # one that passed refuses this order alone
                self._failed(error)
            raise
        except (EngineUnavailable, DecodeInvalid) as error:
            self._failed(error)
            raise

    def _failed(self, error: EngineError) -> None:
        """Trust it only after another probe."""
        self._proved = False
        self._decoder.forget()
        log.warning("decoder.failed", url=self._decoder.url, code=error.code, error=error.detail)

    def _comes_back(self, called_off: threading.Event | None) -> bool:
        """Wait until the server is healthy; False if it isn't in time, or the call is cancelled."""
        cancelled, until = called_off or threading.Event(), time.monotonic() + AWAY_S
        while time.monotonic() < until and not cancelled.wait(LOOK_S):
            if self._decoder.health() == "ok":
                return True
        return False
