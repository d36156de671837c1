"""Takes messages from the outbox to shops' systems: `python -m services.workers.courier`.

Many may run. Each message is delivered at least once under one id: a courier that dies after the post and
before it noted the answer leaves a lease behind, and when that is over the message is sent again.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from infra.observability import measures, tracing
from infra.webhooks import TOTAL_S, Poster, PostResult, Target
from schemas.errors import StorageUnavailable
from services.tills.orders.sending import in_till_form
from services.workers.in_flight import IN_FLIGHT, SLOW_S, InFlight
from services.workers.part import running

if TYPE_CHECKING:
    from services.storage.base.tables import OutboxRow
    from services.storage.outbox.store import Outbox

log = structlog.get_logger()

POLL_S = 0.5
AWAY_S = 5.0  # between looks at a database that is away
# Seconds a message is held. Well over the time of one post, so that a lease never ends a live one.
LEASE_S = 4 * TOTAL_S
FIRST_WAIT_S = 2.0  # at most; doubled after each failed try, and drawn at random below it
GONE = 410


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how far apart: full jitter over a wait that doubles from `first_s` up to `cap_s`."""

    attempts: int
    first_s: float
    cap_s: float

    def next_s(self, attempt: int, answer: PostResult) -> float | None:
        """Seconds until the attempt after this failed one; None when there is none."""
        if answer.status == GONE or attempt >= self.attempts:
            return None
        # The exponent is bounded: after a thousand attempts the power would not be a float.
        widest = min(self.cap_s, self.first_s * 2 ** min(attempt - 1, 40))
        # Jitter keeps the messages of an outage from coming back all at once.
        jittered = random.uniform(0, widest)  # noqa: S311 (spreads load, guards nothing)
        return max(jittered, min(self.cap_s, answer.retry_after_s or 0.0))


class Courier:
    """Claims, posts and notes, each message to the endpoint that it is for. `post` is called from up to
    `IN_FLIGHT` threads."""

    def __init__(
        self,
        outbox: Outbox,
        post: Callable[[Target, str, str], PostResult],
        target: Callable[[str], Target | None],
        patience: Patience,
        *,
        form: Callable[[Target, dict[str, Any]], dict[str, Any]] = lambda _, payload: payload,
        traces: Callable[[list[str]], dict[str, str | None]] = lambda _: {},
    ) -> None:
        """`target`: as the endpoint store's. `form`: the body for a target, from a message's in our form.
        `traces`: by order, as the order store's `traceparents`; asked for while traces are on."""
        self._outbox = outbox
        self._post = post
        self._target = target
        self._patience = patience
        self._form = form
        self._traces = traces
        self._in_flight = InFlight()
        self._pause_s = POLL_S

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Deliver until `stopped(seconds)` says so; what is being posted then is posted to its end."""
        flying: set[Future[None]] = set()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            while not stopped(0.0 if flying else self._pause_s):
                flying = {one for one in flying if not one.done()}
                flying |= {pool.submit(self._flown, message) for message in self._due()}
                if flying:
                    wait(flying, timeout=POLL_S, return_when=FIRST_COMPLETED)

    def deliver(self, message: OutboxRow) -> float | None:
        """Post one claimed message and note what came of it. Never raises. How long the post took, in
        seconds; None where there was none."""
        try:
            return self._deliver(message)
        except StorageUnavailable as error:
            # Sent or not: after its lease it goes out again, under the same id.
            log.warning("webhook.not_noted", message_id=message.id, error=error.detail)
        except Exception as error:
            log.exception("webhook.fault", message_id=message.id)
            self._failed_by(message, error)
        return None

    def _flown(self, message: OutboxRow) -> None:
        took_s = self.deliver(message)
        self._in_flight.returned(message.endpoint_id, slow=None if took_s is None else took_s > SLOW_S)

    def _failed_by(self, message: OutboxRow, error: Exception) -> None:
        """A fault of ours uses up an attempt as an answer does, so that a message that is poison ends."""
        try:
            retry_in_s = self._patience.next_s(message.attempt, PostResult(None, "fault"))
            self._outbox.failed(message, f"a fault here: {type(error).__name__}", retry_in_s=retry_in_s)
        except Exception:
            log.exception("webhook.fault_not_noted", message_id=message.id)

    def _deliver(self, message: OutboxRow) -> float | None:
        target = self._target(message.endpoint_id)
        if target is None:
            # It went with its endpoint, after it was claimed.
            log.info("webhook.dropped", message_id=message.id, order_id=message.order_id)
            return None
        # Counted at the claim, so couriers that die of a message end as well.
        if message.attempt > self._patience.attempts:
            why = f"couriers stopped {self._patience.attempts} times while they sent it"
            self._outbox.failed(message, why, retry_in_s=None)
            log.error("webhook.dead", message_id=message.id, order_id=message.order_id, error=why)
            return None
        # ASCII: metadata may hold half a surrogate pair, which is no UTF-8.
        body = json.dumps(self._formed(target, message), separators=(",", ":"))
        bound = log.bind(message_id=message.id, order_id=message.order_id, attempt=message.attempt)
        began = time.monotonic()
        with tracing.continued(self._trace_of(message)), tracing.span("tell shop", _about(message)):
            answer = self._post(target, message.id, body)
        took_s = time.monotonic() - began
        ms = round(took_s * 1000)
        if not answer.error:
            noted = self._outbox.delivered(message)
            bound.info("webhook.delivered", type=message.type, ms=ms)
            measures.webhook_took("delivered", took_s)
        else:
            retry_in_s = self._patience.next_s(message.attempt, answer)
            noted = self._outbox.failed(message, answer.error, retry_in_s=retry_in_s)
            name = "webhook.dead" if retry_in_s is None else "webhook.failed"
            wait_s = None if retry_in_s is None else round(retry_in_s, 1)
            bound.warning(name, status=answer.status, ms=ms, retry_in_s=wait_s)
            measures.webhook_took(name.removeprefix("webhook."), took_s)
        if not noted:
            bound.warning("webhook.stale_result_dropped")
        return took_s

    def _formed(self, target: Target, message: OutboxRow) -> dict[str, Any]:
        """The message in the form of the target's till, or in ours where that fails: no order is lost."""
        try:
            return self._form(target, message.payload)
        except StorageUnavailable:
            raise
        except Exception:
            log.exception("webhook.till_form_failed", message_id=message.id, till=target.till)
            return message.payload

    def _trace_of(self, message: OutboxRow) -> str | None:
        """Where the message's order stands in its trace; a message is sent all the same without it."""
        try:
            return self._traces([message.order_id]).get(message.order_id) if tracing.on() else None
        except StorageUnavailable:
            return None

    def _due(self) -> Iterator[OutboxRow]:
        """What is due and has room; claimed as it is asked for."""
        try:
            for endpoint_id, room in self._in_flight.capacities(self._outbox.endpoints_due()):
                taken = self._outbox.claim(limit=room, lease_s=LEASE_S, endpoint_id=endpoint_id)
                self._in_flight.sent(endpoint_id, len(taken))
                yield from taken
            self._pause_s = POLL_S
        except StorageUnavailable as error:
            log.warning("webhook.storage_away", error=error.detail)
            self._pause_s = AWAY_S


def _about(message: OutboxRow) -> tracing.Attributes:
    return {
        "saycart.order.id": message.order_id,
        "saycart.message.id": message.id,
        "saycart.message.type": message.type,
        "saycart.attempt": message.attempt,
    }


def main() -> None:
    with running("courier") as (container, stopped):
        config = container.settings
        if config.webhook_endpoints == "off":
            raise SystemExit("The courier has no endpoints: set SAYCART_WEBHOOK_ENDPOINTS.")
        patience = Patience(config.webhook_attempts, FIRST_WAIT_S, config.webhook_wait_cap_s)
        with Poster() as poster:
            Courier(
                container.outbox,
                poster.post,
                container.endpoints.target,
                patience,
                form=partial(in_till_form, container.menus),
                traces=container.orders.traceparents,
            ).run(stopped)


if __name__ == "__main__":
    main()
