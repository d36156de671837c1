"""Outcomes of an order by kind of error (the table is in `runner.py`); retries while the database is down."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from infra.observability import measures, tracing
from schemas.errors import (
    AudioRefused,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    InputError,
    SaycartError,
    StorageUnavailable,
    TooMuchToRead,
)
from schemas.lifecycle import Event, StageName
from schemas.order import OrderError
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from services.pipeline.flow import Stage
from services.pipeline.stages import ask_human

log = structlog.get_logger()

T = TypeVar("T")
WAIT_S, MAX_WAIT_S = 0.2, 3.0
FAULT = "An error in saycart; see the logs"


def outcome_of(error: Exception, stage: Stage, language: str, *, may_retry: bool) -> Outcome | None:
    """Log and count the error of a stage; return its outcome, or None if the stage should be retried."""
    if not isinstance(error, SaycartError):
        measures.count_problem(measures.FAULT, "internal")
        log.exception("stage.fault")
        tracing.note({"error.type": type(error).__name__})
        return None if may_retry else exhausted(stage, "internal", FAULT, language)
    measures.count_problem(error.kind, error.code)
    tracing.note({"error.type": error.code})
    if isinstance(error, InputError):
        log.info("stage.refused", code=error.code, detail=error.detail)
        failure = OrderError(code=error.code, message=error.detail, hint=error.hint, stage=stage.name)
        refused = isinstance(error, AudioRefused)
        return Outcome(Event.BROKE, error=failure, detail={"code": error.code}, refused=refused)
    log.warning("stage.failed", code=error.code, detail=error.detail, retryable=error.retryable)
    if not error.retryable:
        return ask_human(_reason(error), error.code, f"{error.whole}. {error.hint}", language)
    return None if may_retry else exhausted(stage, error.code, error.detail, language)


def exhausted(stage: Stage, code: str, message: str, language: str) -> Outcome:
    """Return the outcome of an order whose attempts are used up."""
    down = stage.name == StageName.DECODE
    reason = ReviewReason.DECODER_UNAVAILABLE if down else ReviewReason.STAGE_FAILED
    return ask_human(reason, code, message, language)


def _reason(error: SaycartError) -> ReviewReason:
    if isinstance(error, TooMuchToRead):
        return ReviewReason.TOO_MUCH_TO_READ
    if isinstance(error, DecodeTruncated):
        return ReviewReason.DECODE_TRUNCATED
    if isinstance(error, DecodeInvalid | EngineError):
        return ReviewReason.DECODE_FAILED
    return ReviewReason.STAGE_FAILED


def retry_while_down(call: Callable[[], T], limit_s: float) -> T:
    """Return the result of `call`, retried for `limit_s` seconds while the database is down.

    Raises:
        StorageUnavailable: it is down for longer.
    """
    end, longest = time.monotonic() + limit_s, WAIT_S
    while True:
        try:
            return call()
        except StorageUnavailable as error:
            wait = random.uniform(0, longest)  # noqa: S311 - jitter, no secret
            if time.monotonic() + wait > end:
                raise
            log.warning("storage.tried_again", error=error.detail, wait_s=round(wait, 2))
        time.sleep(wait)
        longest = min(MAX_WAIT_S, 2 * longest)
