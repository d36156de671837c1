"""One stage of one order: claim, check, act, advance, commit, enqueue.

A message says that there is work; the claim decides which order is next (`storage/orders/turns.py`). The
result and the new state are committed in one transaction, under the version that was claimed; only then is
the next stage enqueued. Where the next stage is at hand, the same transaction claims it for this worker,
which goes on with it: no message, and no claim of its own. A message that comes twice finds nothing to claim,
and a result that comes too late is dropped and counted. While the stage works a heartbeat holds the order.
What each kind of error means is decided here and nowhere else:

    InputError                   the order ends in `error`, with code and hint; AudioRefused ends the
                                 recording, too
    retryable                    the order is put back, to be tried again after a jittered wait
    retryable, attempts used up  a human
    the menu is new              the order is put back as it was, and its turn comes again
    too much to read             a human, at once, and no failure
    anything else                a human, with the reason; the fault is logged
    database away                a claim is left to the sweeper; a result is held and tried again
    a result is refused          put back as for a fault; with the attempts used up a human, and where that
                                 can't be stored either the order ends in `error`, without what was found
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    AudioRefused,
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    InputError,
    MenuBeingRead,
    SaycartError,
    StaleState,
    StorageUnavailable,
    Unreadable,
)
from schemas.lifecycle import STAGES, Event, StageName, State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from services.pipeline import counted
from services.pipeline.flow import BY_NAME, FLOW, Stage
from services.pipeline.heartbeat import Heartbeat
from services.pipeline.ports import Doorbell, Tools
from services.pipeline.stages import ask_human, unread
from services.storage.orders.store import OrderStore

log = structlog.get_logger()

T = TypeVar("T")
# Tries of one stage on errors that are worth a retry.
ATTEMPTS = 4
# Seconds. Four tries with waits of up to 5, 10 and 20 outlast the restart of a language model, which takes
# five seconds and more; from 1 s up they did not, and a killed model sent all that waited for it to review.
BACKOFF_S, BACKOFF_MOST_S = 5.0, 30.0
# Seconds. A claim that can't be stored costs nothing; a result that can't has cost a model's work.
CLAIM_PATIENCE_S = 2.0
AGAIN_S, AGAIN_MOST_S = 0.2, 3.0
# Seconds after which a new menu is no longer read in pieces.
MENU_PATIENCE_S = 600.0
_FAULT = "An error in saycart; see the logs"


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs stages for one worker, named `owner` on its leases. Threads may share one: what tells two claims
    of an order apart is its version, not the owner."""

    orders: OrderStore
    doorbell: Doorbell
    tools: Tools
    owner: str
    attempts: int
    lease_s: float

    def run(self, rung_for: str, stage_name: str) -> State | None:
        """Run one stage of the order whose turn it is, and those at hand after it; the state that the order
        is in afterwards, None when there was nothing to do. `rung_for`: the order that the message named, for
        the log."""
        claimed = order = self._claim(rung_for, BY_NAME[stage_name])
        state = None
        while order is not None:
            stage = FLOW[order.state]
            with _traced(order, stage):
                order, state = self._run(stage, order)
                tracing.note({"saycart.outcome": _outcome(stage, state)})
        if claimed is not None:
            self._ring_for_who_waited(claimed)
        return state

    def _ring_for_who_waited(self, order: OrderRecord) -> None:
        """An order that could not be claimed beside this one lost its message then."""
        try:
            waits = self.orders.waits_for(order)
        except StorageUnavailable as error:
            log.warning("stage.left_to_sweeper", stage=STAGES[order.state], error=error.detail)
            return
        if waits is not None:
            self.doorbell.ring(waits, order.state)

    def _claim(self, rung_for: str, stage: Stage) -> OrderRecord | None:
        try:
            order = _patiently(
                lambda: self.orders.claim_next(stage.state, owner=self.owner, lease_s=self.lease_s),
                CLAIM_PATIENCE_S,
            )
        except StorageUnavailable as error:
            log.warning("stage.left_to_sweeper", order_id=rung_for, stage=stage.name, error=error.detail)
            return None
        if order is None:
            log.info("stage.nothing_to_claim", order_id=rung_for, stage=stage.name)
        else:
            measures.waited(stage.name, order.waited_s)
        return order

    def _run(self, stage: Stage, order: OrderRecord) -> tuple[OrderRecord | None, State | None]:
        """Run one stage of a claimed order: the order as it is held for the next one, where that is at hand,
        and the state that it is in, None when the result counted for nothing."""
        with (
            structlog.contextvars.bound_contextvars(
                order_id=order.id, stage=stage.name, attempt=order.attempt
            ),
            measures.stage_took(stage.name) as took,
        ):
            try:
                with Heartbeat(self.orders, order, lease_s=self.lease_s, limit_s=stage.limit_s) as beat:
                    tools = replace(self.tools, called_off=beat.lost, in_gaps=self._may_wait(order))
                    outcome = self._act(stage, order, tools)
                    if outcome is None:
                        took.outcome = counted.RETRY
                        return None, order.state
                    moved, held = self._commit(order, outcome)
                    took.outcome = counted.outcome_of(moved)
                    return moved if held else None, moved.state
            except (StaleState, DecodeCancelled):
                # The lease ran out or the client cancelled; its present holder decides.
                log.warning("stage.stale_result_dropped")
                took.outcome = counted.DROPPED
            except StorageUnavailable as error:
                log.error("stage.result_not_stored", error=error.detail)
                took.outcome = counted.NOT_STORED
            except Exception as error:
                log.exception("stage.result_refused")
                return None, self._refused(stage, order, error)
            return None, None

    def _act(self, stage: Stage, order: OrderRecord, tools: Tools) -> Outcome | None:
        """The step's outcome, or what its error means; None when the order was put back to wait."""
        if order.attempt > self.attempts:
            # Workers died with it in hand: counted at the claim, so that it can't go round for ever.
            return _given_up(stage, "attempts_used_up", "Workers stopped while working on this")
        try:
            with counted.failures():
                return stage.step(order, tools)
        except DecodeCancelled:
            raise
        except InputError as error:
            log.info("stage.refused", code=error.code, detail=error.detail)
            tracing.note({"error.type": error.code})
            failure = OrderError(code=error.code, message=error.detail, hint=error.hint, stage=stage.name)
            refused = isinstance(error, AudioRefused)
            return Outcome(Event.BROKE, error=failure, detail={"code": error.code}, refused=refused)
        except Unreadable as error:
            log.warning("stage.unreadable", detail=error.detail)
            return unread(error)
        except MenuBeingRead as error:
            self._let_others(order, error.wait_s or 0.0)
            return None
        except SaycartError as error:
            log.warning("stage.failed", code=error.code, detail=error.detail, retryable=error.retryable)
            tracing.note({"error.type": error.code})
            if not error.retryable:
                return ask_human(_reason(error), error.code, f"{error.whole}. {error.hint}")
            kind, code, message = error.code, error.code, error.detail
        except Exception as error:
            log.exception("stage.fault")
            tracing.note({"error.type": type(error).__name__})
            kind, code, message = type(error).__name__, "internal", _FAULT
        if order.attempt < self.attempts:
            self._put_back(order, kind)
            return None
        return _given_up(stage, code, message)

    def _may_wait(self, order: OrderRecord) -> bool:
        """Whether its menu, if it is new, may be read in pieces: until that takes too long to be true."""
        now = order.claimed_at or order.updated_at
        return (now - order.updated_at).total_seconds() < MENU_PATIENCE_S

    def _let_others(self, order: OrderRecord, wait_s: float) -> None:
        _patiently(lambda: self.orders.hand_back(order, retry_in_s=wait_s), self._patience_s)
        self.doorbell.ring(order.id, order.state, delay_s=wait_s)

    def _put_back(self, order: OrderRecord, code: str) -> None:
        longest = min(BACKOFF_MOST_S, BACKOFF_S * 2.0 ** (order.attempt - 1))
        wait = random.uniform(0, longest)  # noqa: S311 - full jitter spreads retries, it hides no secret
        _patiently(
            lambda: self.orders.release(order, retry_in_s=wait, detail={"code": code}), self._patience_s
        )
        self.doorbell.ring(order.id, order.state, delay_s=wait)

    def _refused(self, stage: Stage, order: OrderRecord, error: Exception) -> State | None:
        """What becomes of an order whose result can't be stored, though the database answers; None when it is
        another's by now."""
        try:
            if order.attempt < self.attempts:
                self._put_back(order, type(error).__name__)
                return order.state
            try:
                return self.orders.commit(
                    order, ask_human(ReviewReason.STAGE_FAILED, "internal", _FAULT)
                ).state
            except (StaleState, StorageUnavailable):
                raise
            except Exception:
                log.exception("stage.review_refused")
                failure = OrderError(
                    code="internal", message=_FAULT, hint=SaycartError.hint, stage=stage.name
                )
                return self.orders.abandon(order, failure)
        except StaleState:
            log.warning("stage.stale_result_dropped")
        except StorageUnavailable as away:
            log.error("stage.result_not_stored", error=away.detail)
        return None

    def _commit(self, order: OrderRecord, outcome: Outcome) -> tuple[OrderRecord, bool]:
        """The order as it is stored, and whether it is held for the stage that follows."""
        after = FLOW.get(advance(order.state, outcome.event))
        hold_s = self.lease_s if after is not None and after.at_hand else None
        try:
            moved = _patiently(lambda: self.orders.commit(order, outcome, hold_s=hold_s), self._patience_s)
        except StaleState:
            # A commit whose answer was lost, tried again: did the first one count?
            moved = self.orders.get(order.id)
            if (moved.version, moved.state) != (order.version + 1, advance(order.state, outcome.event)):
                if outcome.recording is not None:
                    self.tools.drop_recording(outcome.recording.key)
                raise
        log.info("stage.done", state=moved.state.value)
        counted.committed(moved, outcome)
        if outcome.refused or outcome.recording is not None:
            self.tools.remove_recording(order.id)
        if hold_s is None and after is not None:
            self.doorbell.ring(order.id, after.state)
        return moved, hold_s is not None

    @property
    def _patience_s(self) -> float:
        """Seconds for which a result is tried to be stored: two leases, so that one outage costs no work.
        It is safe for longer than the lease, too, since the version decides."""
        return 2 * self.lease_s


@contextmanager
def _traced(order: OrderRecord, stage: Stage) -> Iterator[None]:
    """One attempt of a stage, in the trace of the order's acceptance."""
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


def _outcome(stage: Stage, state: State | None) -> str:
    """What an attempt came to: the order's new state, or why it has none."""
    if state is None:
        return "dropped"
    return "retry" if state is stage.state else state.value


def _patiently(call: Callable[[], T], patience_s: float) -> T:
    """What `call` gives, tried again for `patience_s` seconds while the database is away.

    Raises:
        StorageUnavailable: it is away for longer.
    """
    end, longest = time.monotonic() + patience_s, AGAIN_S
    while True:
        try:
            return call()
        except StorageUnavailable as error:
            wait = random.uniform(0, longest)  # noqa: S311 - jitter, no secret
            if time.monotonic() + wait > end:
                raise
            log.warning("storage.tried_again", error=error.detail, wait_s=round(wait, 2))
        time.sleep(wait)
        longest = min(AGAIN_MOST_S, 2 * longest)


def _given_up(stage: Stage, code: str, message: str) -> Outcome:
    """What becomes of an order whose attempts are used up."""
    away = stage.name == StageName.DECODE
    return ask_human(ReviewReason.DECODER_UNAVAILABLE if away else ReviewReason.STAGE_FAILED, code, message)


def _reason(error: SaycartError) -> ReviewReason:
    if isinstance(error, DecodeTruncated):
        return ReviewReason.DECODE_TRUNCATED
    if isinstance(error, DecodeInvalid | EngineError):
        return ReviewReason.DECODE_FAILED
    return ReviewReason.STAGE_FAILED
