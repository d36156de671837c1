"""Several decode servers behind one name: the least busy is asked, another when it is away.

No server is trusted unseen. Before its first order, and before the first after an outage, it has to pass
the probe: a server that was restarted without guided decoding would answer 200 and ignore the mask.
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

REST_S = 5.0
"""A server that failed is asked after all others for this long."""
AWAY_S, LOOK_S = 10.0, 0.5
"""An order in hand waits this long for a server that does not serve, looking this often: it may have died and
be loading its model. Handed back at once, all that wait would use up their tries within seconds."""
PROBE_S = 60.0
"""The probe waits its turn behind the orders and prompts that a busy server has."""


class _Server:
    """One server as this process knows it."""

    def __init__(self, decoder: OpenAIDecoder) -> None:
        self.decoder = decoder
        self.busy = 0
        self.used_at = 0.0
        self.proved = False
        self.rests_until = 0.0
        self._probing = threading.Lock()

    def prove(self, timeout_s: float = PROBE_S) -> None:
        """Probe it unless it passed before; raises as `OpenAIDecoder.probe`."""
        with self._probing:  # of many orders that begin at once, one asks
            if not self.proved:
                self.decoder.probe(timeout_s)
                self.proved = True
                log.info("decoder.proved", url=self.decoder.url)

    def state(self, timeout_s: float) -> str:
        """`ok`, or what is wrong with it. One that is only too busy for the probe is well."""
        if (health := self.decoder.health()) != "ok":
            self.proved = False
            return health
        try:
            self.prove(timeout_s)
        except EngineMisconfigured as error:
            self.failed(error)
            return "refused: it answers without the mask"
        except EngineUnavailable as error:
            log.info("decoder.busy", url=self.decoder.url, error=error.detail)
        return "ok"

    def failed(self, error: EngineError) -> None:
        """Ask others first for a while, and probe it before it is trusted again."""
        self.proved = False
        self.decoder.forget()
        self.rests_until = time.monotonic() + REST_S
        log.warning("decoder.failed", url=self.decoder.url, code=error.code, error=error.detail)


class Servers:
    """`CartDecoder` over one or more like servers.

    `patience_s`: a call that failed later than this is not tried on another server, since the stage has a
    time limit too.
    """

    def __init__(self, decoders: Sequence[OpenAIDecoder], *, patience_s: float) -> None:
        self._servers = [_Server(decoder) for decoder in decoders]
        self._patience_s = patience_s
        self._lock = threading.Lock()

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        """See `CartDecoder.decode`; `EngineUnavailable` only when no server could do it."""
        return self._ask(lambda decoder: decoder.decode(asked, called_off), called_off)

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """See `Completions.complete`; raises as `decode`. Its `timeout_s` is of all that is done for the
        answer, proving a server and asking a second one included."""
        until = time.monotonic() + (how.get("timeout_s") or math.inf)

        def act(decoder: OpenAIDecoder) -> Completed:
            if until < math.inf:
                how["timeout_s"] = max(LEAST_S, until - time.monotonic())
            return decoder.complete(chat, mask, **how)

        return self._ask(act, how.get("called_off"), until)

    def _ask(
        self,
        act: Callable[[OpenAIDecoder], Answered],
        called_off: threading.Event | None,
        until: float = math.inf,
    ) -> Answered:
        last, left, waited = time.monotonic() + self._patience_s, list(self._servers), False
        while True:
            server = self._take(left)
            left.remove(server)
            try:
                server.prove(max(LEAST_S, min(PROBE_S, until - time.monotonic())))
                return act(server.decoder)
            except (EngineUnavailable, DecodeInvalid, EngineMisconfigured) as error:
                if server.proved and isinstance(error, EngineMisconfigured):
                    raise  # it is this order that it refuses, as any like server would
                server.failed(error)
                late = error.retryable and time.monotonic() > min(last, until)
                if late or isinstance(error, DecodeInvalid):
                    raise
                if not left:
                    if waited or not error.retryable or not self._come_back(called_off):
                        raise
                    left, waited = list(self._servers), True
            finally:
                with self._lock:
                    server.busy -= 1

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. Each server has a cache of its own; also raises as `prove`, which comes
        first: the first order would else have to wait for it."""

        def warm(server: _Server) -> None:
            server.prove()
            server.decoder.warm(menu, called_off)

        self._each(warm)

    def prove(self) -> None:
        """Probe every server that has not passed yet. One that passes is enough.

        Raises:
            EngineMisconfigured: every server answers without the mask.
            EngineUnavailable: none passed, and one or more did not answer: it may yet come.
        """
        self._each(lambda server: server.prove())

    def state(self, timeout_s: float) -> str:
        """`ok` when one server is, or what is wrong with the first; `timeout_s` is for each one's probe."""
        states = [server.state(timeout_s) for server in self._servers]
        return "ok" if "ok" in states else states[0]

    def _come_back(self, called_off: threading.Event | None) -> bool:
        """Whether none served, and now one does again. One that serves and fails has no better answer."""
        if self._serves():
            return False
        gone, until = called_off or threading.Event(), time.monotonic() + AWAY_S
        while time.monotonic() < until and not gone.wait(LOOK_S):
            if self._serves():
                return True
        return False

    def _serves(self) -> bool:
        return any(server.decoder.health() == "ok" for server in self._servers)

    def _each(self, act: Callable[[_Server], None]) -> None:
        errors: list[EngineError] = []
        for server in self._servers:
            try:
                act(server)
            except (EngineUnavailable, EngineMisconfigured) as error:
                server.failed(error)
                errors.append(error)
        if len(errors) == len(self._servers):
            raise min(errors, key=lambda error: not error.retryable)

    def _take(self, left: Sequence[_Server]) -> _Server:
        """The least busy of those that did not fail lately, in turns; counted as one busier."""
        with self._lock:
            now = time.monotonic()
            server = min(left, key=lambda one: (one.rests_until > now, one.busy, one.used_at))
            server.busy += 1
            server.used_at = now
            return server
