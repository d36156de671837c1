"""Delivers messages from the outbox to shops' systems: `python -m services.workers.courier`.

Several couriers can run. Each message is delivered at least once, under one id: if a courier dies before it
has stored the response, the message is sent again after its lease.
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
DATABASE_DOWN_S = 5.0  # between polls of a database that is down
# Much longer than a request can take.
LEASE_S = 4 * TOTAL_S
FIRST_WAIT_S = 2.0  # the longest first wait; doubled after each failed attempt
GONE = 410


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts, with full jitter over a wait that doubles from `first_s` up to `cap_s`."""

    attempts: int
    first_s: float
    cap_s: float

    def next_s(self, attempt: int, answer: PostResult) -> float | None:
        """Return the seconds until the next attempt after a failed one, None if there is none."""
        if answer.status == GONE or attempt >= self.attempts:
            return None
        # A larger exponent would overflow.
        longest = min(self.cap_s, self.first_s * 2 ** min(attempt - 1, 40))
        jittered = random.uniform(0, longest)  # noqa: S311 (spreads load, guards nothing)
        return max(jittered, min(self.cap_s, answer.retry_after_s or 0.0))


class Courier:
    """Claims messages, posts them, and stores the results. Up to `IN_FLIGHT` threads call `post`."""

    def __init__(
        self,
        outbox: Outbox,
        post: Callable[[Target, str, str], PostResult],
        target: Callable[[str], Target | None],
        retries: RetryPolicy,
        *,
        form: Callable[[Target, dict[str, Any]], dict[str, Any]] = lambda _, payload: payload,
        trace_of: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """`target`: as the endpoint store's. `form` converts a message's body for a target. `trace_of`
        returns the trace context of an order, called while traces are on."""
        self._outbox = outbox
        self._post = post
        self._target = target
        self._retries = retries
        self._form = form
        self._trace_of = trace_of
        self._in_flight = InFlight()
        self._pause_s = POLL_S

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Deliver until `stopped(seconds)` returns True; requests in progress are completed."""
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            while not stopped(0.0 if running else self._pause_s):
                running = {one for one in running if not one.done()}
                running |= {pool.submit(self._run_delivery, message) for message in self._claimed()}
                if running:
                    wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)

    def deliver(self, message: OutboxRow) -> float | None:
        """Post a claimed message and store the result; never raises. Returns the request's duration in
        seconds, None if nothing was posted."""
        try:
            return self._deliver(message)
        except StorageUnavailable as error:
            # The message will be sent again after its lease.
            log.warning("webhook.not_noted", message_id=message.id, error=error.detail)
        except Exception as error:
            log.exception("webhook.fault", message_id=message.id)
            self._store_fault(message, error)
        return None

    def _run_delivery(self, message: OutboxRow) -> None:
        took_s = self.deliver(message)
        self._in_flight.returned(message.endpoint_id, slow=None if took_s is None else took_s > SLOW_S)

    def _store_fault(self, message: OutboxRow, error: Exception) -> None:
        """Count a fault of ours as a failed attempt, so that a poison message doesn't go round for ever."""
        try:
            retry_in_s = self._retries.next_s(message.attempt, PostResult(None, "fault"))
            self._outbox.failed(message, f"a fault here: {type(error).__name__}", retry_in_s=retry_in_s)
        except Exception:
            log.exception("webhook.fault_not_noted", message_id=message.id)

    def _deliver(self, message: OutboxRow) -> float | None:
        target = self._target(message.endpoint_id)
        if target is None:
            log.info("webhook.dropped", message_id=message.id, order_id=message.order_id)
            return None
        if message.attempt > self._retries.attempts:
            why = f"couriers stopped {self._retries.attempts} times while they sent it"
            self._outbox.failed(message, why, retry_in_s=None)
            log.error("webhook.dead", message_id=message.id, order_id=message.order_id, error=why)
            return None
        # ASCII, since metadata may have lone surrogates, which UTF-8 can't encode.
        body = json.dumps(self._payload(target, message), separators=(",", ":"))
        bound = log.bind(message_id=message.id, order_id=message.order_id, attempt=message.attempt)
        trace = self._trace_of(message.order_id) if tracing.on() else None
        began = time.monotonic()
        with tracing.continued(trace), tracing.span("tell shop", _about(message)):
            answer = self._post(target, message.id, body)
        took_s = time.monotonic() - began
        ms = round(took_s * 1000)
        if not answer.error:
            noted = self._outbox.delivered(message)
            bound.info("webhook.delivered", type=message.type, ms=ms)
            measures.observe_webhook("delivered", took_s)
        else:
            retry_in_s = self._retries.next_s(message.attempt, answer)
            noted = self._outbox.failed(message, answer.error, retry_in_s=retry_in_s)
            name = "webhook.dead" if retry_in_s is None else "webhook.failed"
            wait_s = None if retry_in_s is None else round(retry_in_s, 1)
            bound.warning(name, status=answer.status, ms=ms, retry_in_s=wait_s)
            measures.observe_webhook(name.removeprefix("webhook."), took_s)
        if not noted:
            bound.warning("webhook.stale_result_dropped")
        return took_s

    def _payload(self, target: Target, message: OutboxRow) -> dict[str, Any]:
        """Return the message in the format of the target's till, or in ours if that fails."""
        try:
            return self._form(target, message.payload)
        except StorageUnavailable:
            raise
        except Exception:
            log.exception("webhook.till_form_failed", message_id=message.id, till=target.till)
            return message.payload

    def _claimed(self) -> Iterator[OutboxRow]:
        """Claim and yield due messages, as many as each endpoint may get."""
        try:
            for endpoint_id, capacity in self._in_flight.capacities(self._outbox.endpoints_due()):
                messages = self._outbox.claim(limit=capacity, lease_s=LEASE_S, endpoint_id=endpoint_id)
                self._in_flight.sent(endpoint_id, len(messages))
                yield from messages
            self._pause_s = POLL_S
        except StorageUnavailable as error:
            log.warning("webhook.storage_away", error=error.detail)
            self._pause_s = DATABASE_DOWN_S


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
        retries = RetryPolicy(config.webhook_attempts, FIRST_WAIT_S, config.webhook_wait_cap_s)
        with Poster() as poster:
            Courier(
                container.outbox,
                poster.post,
                container.endpoints.target,
                retries,
                form=partial(in_till_form, container.menus),
                trace_of=lambda order_id: container.orders.get(order_id).traceparent,
            ).run(stopped)


if __name__ == "__main__":
    main()
