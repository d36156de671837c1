"""One stage of one order: claim, run the step, commit, notify the next stage.

A message says that there is work; the claim decides which order is next (`storage/orders/turns.py`). The
result and the new state are committed in one transaction, under the version that was claimed; only then is
the next stage notified. If that stage is inline, the same transaction claims it for this worker, which goes
on at once. A duplicate message finds nothing to claim, and a late result is dropped and counted. A heartbeat
holds the order while the step runs. What errors mean (`problems.py`):

    InputError                     the order ends in `error`, with code and hint; AudioRefused deletes the
                                   recording, too
    retryable                      the order is released for a retry after a jittered wait
    retryable, attempts used up    review
    the menu is new                the order is handed back as it was, and its turn comes again
    anything else                  review, with the reason; the fault is logged
    database down                  as any retryable error; what can't be stored even then is left to the
                                   sweeper, once the lease has run out
    review can't be stored         the order ends in `error` without it
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from infra.observability import measures, tracing
from schemas.errors import DecodeCancelled, MenuBeingRead, SaycartError, StaleState, StorageUnavailable
from schemas.lifecycle import StageName, State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord, Outcome
from schemas.shops.access import is_page
from services.pipeline.flow import BY_NAME, FLOW, Stage
from services.pipeline.heartbeat import Heartbeat
from services.pipeline.problems import FAULT, count_committed, exhausted, label_of, outcome_of
from services.pipeline.stages import Tools
from services.storage.orders.store import OrderStore

log = structlog.get_logger()

# Attempts of one stage, for errors that are worth a retry.
ATTEMPTS = 4
# Seconds. Waits of up to 5, 10 and 20 outlast the restart of a language model, which takes at least five.
BACKOFF_S = 5.0
# Seconds after which an order no longer waits for its new menu.
MENU_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs stages for one worker, the `owner` of its leases. Threads may share a runner: the version tells
    two claims of an order apart. `ring` is a doorbell's: it notifies a stage, after some seconds."""

    orders: OrderStore
    ring: Callable[[str, State, float], object]
    tools: Tools
    owner: str
    attempts: int
    lease_s: float

    def run(self, notified_for: str, stage_name: str) -> State | None:
        """Run one stage of the next order, and the inline stages after it.

        Returns the order's new state, or None if there was nothing to do. `notified_for` is the order that
        the message named, for the log.
        """
        stage = BY_NAME[stage_name]
        try:
            order = claimed = self.orders.claim_next(stage.state, owner=self.owner, lease_s=self.lease_s)
        except StorageUnavailable as error:
            log.warning("stage.left_to_sweeper", order_id=notified_for, stage=stage.name, error=error.detail)
            return None
        if claimed is None:
            log.info("stage.nothing_to_claim", order_id=notified_for, stage=stage.name)
            return None
        measures.observe_wait(stage.name, claimed.waited_s)
        while order is not None and order.lease_owner is not None:
            order = self._run(FLOW[order.state], order)
        if is_page(claimed.source):
            # While this one was held, the message of another order from its address may have been used up.
            self.ring(claimed.id, claimed.state, 0.0)
        return order.state if order is not None else None

    def _run(self, stage: Stage, order: OrderRecord) -> OrderRecord | None:
        """Run one stage of a claimed order, in a span of its trace. Returns the order as stored, or None if
        the result was dropped. It is still held if its next stage is inline."""
        about: tracing.Attributes = {
            "saycart.order.id": order.id,
            "saycart.attempt": order.attempt,
            "saycart.waited_s": order.waited_s,
        }
        ids = {"order_id": order.id, "stage": stage.name, "attempt": order.attempt}
        with (
            tracing.continued(order.traceparent),
            tracing.span(f"stage {stage.name}", about, kind="consumer"),
            structlog.contextvars.bound_contextvars(**ids),
            measures.time_stage(stage.name) as took,
        ):
            try:
                moved = self._act(stage, order)
                took.outcome = label_of(order, moved)
                return moved
            except (StaleState, DecodeCancelled):
                # The lease ran out or the client cancelled; the current holder decides.
                log.warning("stage.stale_result_dropped")
                took.outcome = "dropped"
            except StorageUnavailable as error:
                log.error("stage.result_not_stored", error=error.detail)
                took.outcome = "not_stored"
            finally:
                tracing.note({"saycart.outcome": took.outcome})
            return None

    def _act(self, stage: Stage, order: OrderRecord) -> OrderRecord:
        """Run the step and store its outcome, or that of its error."""
        if order.attempt > self.attempts:
            # Workers died with it: counted at the claim, so that it can't go round for ever.
            why, down = "Workers stopped while working on this", stage.name == StageName.DECODE
            return self._end(stage, order, exhausted("attempts_used_up", why, order.language, down=down))
        waited_s = ((order.claimed_at or order.updated_at) - order.updated_at).total_seconds()
        started = time.perf_counter()
        with Heartbeat(self.orders, order, lease_s=self.lease_s, limit_s=stage.limit_s) as beat:
            tools = replace(self.tools, called_off=beat.lost, chunked_prefill=waited_s < MENU_LIMIT_S)
            try:
                outcome = stage.step(order, tools)
                took = {stage.name.value: time.perf_counter() - started}
                return self._commit(order, replace(outcome, timings=took))
            except (StaleState, DecodeCancelled):
                raise
            except MenuBeingRead as error:
                return self._release(order, error.wait_s or 0.0, None)
            except Exception as error:
                failed = outcome_of(error, stage, order.language, may_retry=order.attempt < self.attempts)
                return self._retry(order, error) if failed is None else self._end(stage, order, failed)

    def _end(self, stage: Stage, order: OrderRecord, outcome: Outcome) -> OrderRecord:
        """Store an outcome that has no result. If even that can't be stored, the order ends in `error`."""
        try:
            return self._commit(order, outcome)
        except (StaleState, StorageUnavailable):
            raise
        except Exception:
            log.exception("stage.review_refused")
            failure = OrderError(code="internal", message=FAULT, hint=SaycartError.hint, stage=stage.name)
            return self.orders.abandon(order, failure)

    def _retry(self, order: OrderRecord, error: Exception) -> OrderRecord:
        longest = BACKOFF_S * 2.0 ** (order.attempt - 1)
        wait_s = random.uniform(0, longest)  # noqa: S311 - full jitter spreads retries, it hides no secret
        code = error.code if isinstance(error, SaycartError) else type(error).__name__
        return self._release(order, wait_s, code)

    def _release(self, order: OrderRecord, wait_s: float, code: str | None) -> OrderRecord:
        self.orders.release(order, retry_in_s=wait_s, code=code)
        self.ring(order.id, order.state, wait_s)
        return replace(order, lease_owner=None)

    def _commit(self, order: OrderRecord, outcome: Outcome) -> OrderRecord:
        """Store the outcome, and claim the order for a next stage that is inline or notify any other."""
        after = FLOW.get(advance(order.state, outcome.event))
        hold_s = self.lease_s if after is not None and after.inline else None
        copies = {one.audio_key for one in outcome.utterances if one.audio_key is not None} - order.recordings
        try:
            moved = self.orders.commit(order, outcome, hold_s=hold_s)
        except StaleState:  # no order refers to the copies
            for key in copies:
                self.tools.drop_recording(key)
            raise
        log.info("stage.done", state=moved.state.value)
        count_committed(moved, outcome)
        for key in (order.recordings | copies) - moved.recordings:
            self.tools.drop_recording(key)
        if hold_s is None and after is not None:
            self.ring(order.id, after.state, 0.0)
        return moved
