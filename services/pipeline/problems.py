"""The problems of stages: outcomes of their errors (the table is in `runner.py`), and what metrics count."""

from __future__ import annotations

import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    AudioRefused,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
    InputError,
    RecordingLost,
    SaycartError,
    TooMuchToRead,
)
from schemas.lifecycle import SETTLED, STAGES, Event, StageName, State
from schemas.order import OrderError
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from services.pipeline.flow import Stage
from services.pipeline.stages import ask_human

log = structlog.get_logger()

FAULT = "An error in saycart; see the logs"
# The reason for a review by an error that no retry can help with; `STAGE_FAILED` for any other.
_REASONS: dict[type[Exception], ReviewReason] = {
    TooMuchToRead: ReviewReason.TOO_MUCH_TO_READ,
    DecodeTruncated: ReviewReason.DECODE_TRUNCATED,
    DecodeInvalid: ReviewReason.DECODE_FAILED,
    EngineMisconfigured: ReviewReason.DECODE_FAILED,
}
_TRANSCRIPTION = frozenset({"nothing_heard", "heard_quietly"})
_ENDS = {State.IN_REVIEW: "review", State.FAILED: "error"}

# Initialized to zero, since alerts look for their first occurrence.
RARE = (
    ("fault", "internal"),
    ("storage", RecordingLost.code),
    ("syntax", DecodeTruncated.code),
    ("syntax", DecodeInvalid.code),
    ("outage", EngineUnavailable.code),
)
TROUBLES = tuple((stage, "timed_out") for stage in STAGES.values())


def outcome_of(error: Exception, stage: Stage, language: str, *, may_retry: bool) -> Outcome | None:
    """Log and count the error of a stage; return its outcome, or None if the stage should be retried."""
    if not isinstance(error, SaycartError):
        measures.count_problem(measures.FAULT, "internal")
        log.exception("stage.fault")
        tracing.note({"error.type": type(error).__name__})
        return None if may_retry else exhausted("internal", FAULT, language)
    measures.count_problem(error.kind, error.code)
    tracing.note({"error.type": error.code})
    if isinstance(error, InputError):
        log.info("stage.refused", code=error.code, detail=error.detail)
        failure = OrderError(code=error.code, message=error.detail, hint=error.hint, stage=stage.name)
        refused = isinstance(error, AudioRefused)
        return Outcome(Event.BROKE, error=failure, detail={"code": error.code}, refused=refused)
    log.warning("stage.failed", code=error.code, detail=error.detail, retryable=error.retryable)
    if not error.retryable:
        reason = _REASONS.get(type(error), ReviewReason.STAGE_FAILED)
        return ask_human(reason, error.code, f"{error.whole}. {error.hint}", language)
    down = isinstance(error, EngineError) and stage.name == StageName.DECODE
    return None if may_retry else exhausted(error.code, error.detail, language, down=down)


def exhausted(code: str, message: str, language: str, *, down: bool = False) -> Outcome:
    """Return the outcome of an order whose attempts are used up. `down`: the decoder may be the cause."""
    reason = ReviewReason.DECODER_UNAVAILABLE if down else ReviewReason.STAGE_FAILED
    return ask_human(reason, code, message, language)


def label_of(order: OrderRecord, moved: OrderRecord) -> str:
    """Return a stage's outcome: `retry`, `review`, `error`, or else `done`."""
    return "retry" if moved.state is order.state else _ENDS.get(moved.state, measures.DONE)


def count_committed(moved: OrderRecord, outcome: Outcome) -> None:
    """Count a stored outcome's doubts, and the order's whole time once it has settled.

    A replayed order counts again, from its first acceptance.
    """
    if not outcome.detail.get("code"):  # else it failed, which `outcome_of` counted
        _doubts(outcome)
    if moved.state in SETTLED:
        newest = moved.all_utterances[-1]
        took = (moved.updated_at - newest.at).total_seconds()
        speech_s = newest.transcript.duration_s if newest.transcript else None
        measures.observe_settled(
            "spoken" if moved.spoken else "typed", moved.state.value, took - (speech_s or 0.0)
        )


def _doubts(outcome: Outcome) -> None:
    for finding in outcome.findings or ():
        if finding.blocks:
            measures.count_problem(
                "transcription" if finding.code in _TRANSCRIPTION else "meaning", finding.code
            )
    if ReviewReason.LOW_ASR_CONFIDENCE in (outcome.reasons or ()):
        measures.count_problem("transcription", ReviewReason.LOW_ASR_CONFIDENCE.value)
