"""What each kind of error means for an order. The table is in `runner.py`."""

from __future__ import annotations

import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    AudioRefused,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    InputError,
    SaycartError,
    TooMuchToRead,
)
from schemas.lifecycle import Event, StageName
from schemas.order import OrderError
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from services.pipeline.flow import Stage
from services.pipeline.stages import ask_human

log = structlog.get_logger()

FAULT = "An error in saycart; see the logs"


def outcome_of(error: Exception, stage: Stage, *, may_retry: bool) -> Outcome | None:
    """Log and count the error of a stage; return its outcome, or None if the stage should be retried."""
    if not isinstance(error, SaycartError):
        measures.problem(measures.FAULT, "internal")
        log.exception("stage.fault")
        tracing.note({"error.type": type(error).__name__})
        return None if may_retry else exhausted(stage, "internal", FAULT)
    measures.problem(error.kind, error.code)
    tracing.note({"error.type": error.code})
    if isinstance(error, InputError):
        log.info("stage.refused", code=error.code, detail=error.detail)
        failure = OrderError(code=error.code, message=error.detail, hint=error.hint, stage=stage.name)
        refused = isinstance(error, AudioRefused)
        return Outcome(Event.BROKE, error=failure, detail={"code": error.code}, refused=refused)
    log.warning("stage.failed", code=error.code, detail=error.detail, retryable=error.retryable)
    if not error.retryable:
        return ask_human(_reason(error), error.code, f"{error.whole}. {error.hint}")
    return None if may_retry else exhausted(stage, error.code, error.detail)


def exhausted(stage: Stage, code: str, message: str) -> Outcome:
    """Return the outcome of an order whose attempts are used up."""
    down = stage.name == StageName.DECODE
    return ask_human(ReviewReason.DECODER_UNAVAILABLE if down else ReviewReason.STAGE_FAILED, code, message)


def _reason(error: SaycartError) -> ReviewReason:
    if isinstance(error, TooMuchToRead):
        return ReviewReason.TOO_MUCH_TO_READ
    if isinstance(error, DecodeTruncated):
        return ReviewReason.DECODE_TRUNCATED
    if isinstance(error, DecodeInvalid | EngineError):
        return ReviewReason.DECODE_FAILED
    return ReviewReason.STAGE_FAILED
