"""One stage of one order: claim, run the step, commit, notify the next stage.

A message says that there is work; the claim decides which order is next (`storage/orders/turns.py`). The
result and the new state are committed in one transaction, under the version that was claimed; only then is
the next stage notified. If that stage is inline, the same transaction claims it for this worker, which goes
on at once. A duplicate message finds nothing to claim, and a late result is dropped and counted. A heartbeat
holds the order while the step runs. What errors mean (`failures.py`):

    InputError                     the order ends in `error`, with code and hint; AudioRefused deletes the
                                   recording, too
    retryable                      the order is released for a retry after a jittered wait
    retryable, attempts used up    review
    the menu is new                the order is handed back as it was, and its turn comes again
    anything else                  review, with the reason; the fault is logged
    database down                  a claim is left to the sweeper; a result is kept and retried
    the result can't be stored     released as for a fault; with the attempts used up review, and if that
                                   can't be stored either, the order ends in `error` without the result
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace

import structlog

from infra.observability import measures, tracing
from schemas.errors import DecodeCancelled, MenuBeingRead, SaycartError, StaleState, StorageUnavailable
from schemas.lifecycle import State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.shops.access import is_page
from services.pipeline import order_metrics
from services.pipeline.failures import FAULT, exhausted, outcome_of, retry_while_down
from services.pipeline.flow import BY_NAME, FLOW, Stage
from services.pipeline.heartbeat import Heartbeat
from services.pipeline.ports import Doorbell, Tools
from services.pipeline.stages import ask_human
from services.storage.orders.store import OrderStore

log = structlog.get_logger()

# Attempts of one stage, for errors that are worth a retry.
ATTEMPTS = 4
# Seconds. Waits of up to 5, 10 and 20 outlast the restart of a language model, which takes at least five.
BACKOFF_S, BACKOFF_MOST_S = 5.0, 30.0
# Seconds after which an order no longer waits for its new menu.
MENU_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs stages for one worker, the `owner` of its leases. Threads may share a runner: the version tells
    two claims of an order apart."""

    orders: OrderStore
    doorbell: Doorbell
    tools: Tools
    owner: str
    attempts: int
    lease_s: float

    def run(self, notified_for: str, stage_name: str) -> State | None:
        """Run one stage of the next order, and the inline stages after it.

        Returns the order's new state, or None if there was nothing to do. `notified_for` is the order that
        the message named, for the log.
        """
        claimed = order = self._claim(notified_for, BY_NAME[stage_name])
        state = None
        while order is not None:
            stage = FLOW[order.state]
            with _traced(order, stage):
                order, state = self._run(stage, order)
        if claimed is not None and is_page(claimed.source):
            # While this one was held, the message of another order from its address may have been used up.
            self.doorbell.ring(claimed.id, claimed.state)
        return state

    def _claim(self, notified_for: str, stage: Stage) -> OrderRecord | None:
        try:
            order = self.orders.claim_next(stage.state, owner=self.owner, lease_s=self.lease_s)
        except StorageUnavailable as error:
            log.warning("stage.left_to_sweeper", order_id=notified_for, stage=stage.name, error=error.detail)
            return None
        if order is None:
            log.info("stage.nothing_to_claim", order_id=notified_for, stage=stage.name)
        else:
            measures.observe_wait(stage.name, order.waited_s)
        return order

    def _run(self, stage: Stage, order: OrderRecord) -> tuple[OrderRecord | None, State | None]:
        """Run one stage of a claimed order. Returns the order if its next stage is inline, and its new state,
        None if the result was dropped."""
        ids = {"order_id": order.id, "stage": stage.name, "attempt": order.attempt}
        with structlog.contextvars.bound_contextvars(**ids), measures.time_stage(stage.name) as took:
            try:
                with Heartbeat(self.orders, order, lease_s=self.lease_s, limit_s=stage.limit_s) as beat:
                    age_s = ((order.claimed_at or order.updated_at) - order.updated_at).total_seconds()
                    tools = replace(self.tools, called_off=beat.lost, chunked_prefill=age_s < MENU_LIMIT_S)
                    moved, held = self._act(stage, order, tools)
                took.outcome = order_metrics.RETRY if moved is order else order_metrics.outcome_of(moved)
                return moved if held else None, moved.state
            except (StaleState, DecodeCancelled):
                # The lease ran out or the client cancelled; the current holder decides.
                log.warning("stage.stale_result_dropped")
                took.outcome = order_metrics.DROPPED
            except StorageUnavailable as error:
                log.error("stage.result_not_stored", error=error.detail)
                took.outcome = order_metrics.NOT_STORED
            finally:
                tracing.note({"saycart.outcome": took.outcome})
            return None, None

    def _act(self, stage: Stage, order: OrderRecord, tools: Tools) -> tuple[OrderRecord, bool]:
        """Run the step and store its outcome, or that of its error. Returns the order, unchanged if it was
        released for a retry, and whether it is held for an inline stage."""
        if order.attempt > self.attempts:
            # Workers died with it: counted at the claim, so that it can't go round for ever.
            why = "Workers stopped while working on this"
            return self._end(stage, order, exhausted(stage, "attempts_used_up", why, order.language))
        started = time.perf_counter()
        try:
            outcome = stage.step(order, tools)
        except DecodeCancelled:
            raise
        except MenuBeingRead as error:
            self._release(order, error.wait_s or 0.0)
            return order, False
        except Exception as error:
            return self._failed(stage, order, error)
        took = {stage.name.value: time.perf_counter() - started}
        try:
            return self._commit(order, replace(outcome, timings=took))
        except (StaleState, StorageUnavailable):
            raise
        except Exception as error:
            log.exception("stage.result_refused")
            if order.attempt < self.attempts:
                return self._retry(order, type(error).__name__)
            review = ask_human(ReviewReason.STAGE_FAILED, "internal", FAULT, order.language)
            return self._end(stage, order, review)

    def _failed(self, stage: Stage, order: OrderRecord, error: Exception) -> tuple[OrderRecord, bool]:
        """Release the order for a retry, or store the outcome of its stage's error."""
        outcome = outcome_of(error, stage, order.language, may_retry=order.attempt < self.attempts)
        if outcome is not None:
            return self._end(stage, order, outcome)
        return self._retry(order, error.code if isinstance(error, SaycartError) else type(error).__name__)

    def _retry(self, order: OrderRecord, code: str) -> tuple[OrderRecord, bool]:
        longest = min(BACKOFF_MOST_S, BACKOFF_S * 2.0 ** (order.attempt - 1))
        wait_s = random.uniform(0, longest)  # noqa: S311 - full jitter spreads retries, it hides no secret
        self._release(order, wait_s, code)
        return order, False

    def _end(self, stage: Stage, order: OrderRecord, outcome: Outcome) -> tuple[OrderRecord, bool]:
        """Store an outcome that has no result. If even that can't be stored, the order ends in `error`."""
        try:
            return self._commit(order, outcome)
        except (StaleState, StorageUnavailable):
            raise
        except Exception:
            log.exception("stage.review_refused")
            failure = OrderError(code="internal", message=FAULT, hint=SaycartError.hint, stage=stage.name)
            return self.orders.abandon(order, failure), False

    def _release(self, order: OrderRecord, wait_s: float, code: str | None = None) -> None:
        retry_while_down(
            lambda: self.orders.release(order, retry_in_s=wait_s, code=code), self._result_limit_s
        )
        self.doorbell.ring(order.id, order.state, delay_s=wait_s)

    def _commit(self, order: OrderRecord, outcome: Outcome) -> tuple[OrderRecord, bool]:
        """Store the outcome; return the order, and whether it is held for an inline stage."""
        state = advance(order.state, outcome.event)
        after = FLOW.get(state)
        hold_s = self.lease_s if after is not None and after.inline else None
        stored = order.recordings | {one.audio_key for one in outcome.utterances if one.audio_key is not None}
        try:
            moved = retry_while_down(
                lambda: self.orders.commit(order, outcome, hold_s=hold_s), self._result_limit_s
            )
        except StaleState:
            # A retried commit whose first response was lost: did the first one succeed?
            moved = self.orders.get(order.id)
            if (moved.version, moved.state) != (order.version + 1, state):
                self._drop(stored - order.recordings - moved.recordings)
                raise
        log.info("stage.done", state=moved.state.value)
        order_metrics.committed(moved, outcome)
        self._drop(stored - moved.recordings)
        if hold_s is None and after is not None:
            self.doorbell.ring(order.id, after.state)
        return moved, hold_s is not None

    def _drop(self, recordings: Set[str]) -> None:
        for key in recordings:
            self.tools.drop_recording(key)

    @property
    def _result_limit_s(self) -> float:
        """Seconds to retry storing a result: two leases, so that an outage costs no work. Longer than the
        lease is safe, since the version decides."""
        return 2 * self.lease_s


@contextmanager
def _traced(order: OrderRecord, stage: Stage) -> Iterator[None]:
    """Trace one attempt of a stage, as part of the order's trace."""
    about: tracing.Attributes = {
        "messaging.system": "redis",
        "messaging.operation.type": "process",
        "messaging.destination.name": stage.name,
        "saycart.order.id": order.id,
        "saycart.shop": order.shop,
        "saycart.attempt": order.attempt,
        "saycart.waited_s": order.waited_s,
    }
    with tracing.continued(order.traceparent), tracing.span(f"stage {stage.name}", about, kind="consumer"):
        yield
