"""What the runner counts of orders (`infra.observability.measures`): problems by kind, and how long it took.

| kind | |
|---|---|
| `syntax` | a decode server's answer that is no cart: cut short, or outside the mask |
| `outage` | an engine that did not answer, or can't be used as it is set |
| `hearing` | nothing was heard, or it was heard with too little confidence |
| `meaning` | a finding that blocks: the words were read, and the cart is in doubt |
| `input` | what the client sent can't be worked on |
| `budget` | words and menu are past the work budget |
| `storage` | a recording or a row that is not there or can't be had |
| `fault` | ours |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from infra.observability import measures
from schemas.errors import (
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineUnavailable,
    InputError,
    RecordingLost,
    SaycartError,
    StorageError,
    TooMuchToRead,
    Unreadable,
)
from schemas.lifecycle import SETTLED, STAGES, State
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason

# The first that fits.
_KINDS: tuple[tuple[str, type[SaycartError] | tuple[type[SaycartError], ...]], ...] = (
    ("syntax", (DecodeTruncated, DecodeInvalid)),
    ("outage", EngineError),
    ("budget", Unreadable),
    ("storage", StorageError),
    ("input", InputError),
)
_HEARING = frozenset({"nothing_heard", "heard_quietly"})
_ENDS = {State.IN_REVIEW: "review", State.FAILED: "error"}

# What an alert looks for, though it be one in a month.
RARE = (
    ("fault", "internal"),
    ("storage", RecordingLost.code),
    ("syntax", DecodeTruncated.code),
    ("syntax", DecodeInvalid.code),
    ("outage", EngineUnavailable.code),
)
TROUBLES = tuple((stage, "let_go") for stage in STAGES.values())
RETRY, DROPPED, NOT_STORED = "retry", "dropped", "not_stored"


@contextmanager
def failures() -> Iterator[None]:
    """Count the error that ends the block, which is passed on."""
    try:
        yield
    except DecodeCancelled:  # the order was taken away: no failure
        raise
    except Exception as error:
        kind = next((kind for kind, types in _KINDS if isinstance(error, types)), measures.FAULT)
        code = error.code if isinstance(error, SaycartError) else "internal"
        measures.problem(kind, code)
        raise


def outcome_of(moved: OrderRecord) -> str:
    """What a stage came to: `review`, `error`, or else `done`."""
    return _ENDS.get(moved.state, measures.DONE)


def committed(moved: OrderRecord, outcome: Outcome) -> None:
    """Count what a stage doubted, once that is stored, and the order's whole time where it has settled.

    An order that an operator sent through again counts again, from its first acceptance.
    """
    if not outcome.detail.get("code"):  # else it failed, which is counted by `failures`
        _doubts(outcome)
    if moved.state in SETTLED:
        took = (moved.updated_at - moved.created_at).total_seconds()
        said = moved.transcript.duration_s if moved.transcript else None
        measures.settled("spoken" if moved.spoken else "typed", moved.state.value, took - (said or 0.0))


def _doubts(outcome: Outcome) -> None:
    for finding in outcome.findings or ():
        if finding.blocks and finding.code != TooMuchToRead.code:
            measures.problem("hearing" if finding.code in _HEARING else "meaning", finding.code)
    if ReviewReason.LOW_ASR_CONFIDENCE in (outcome.reasons or ()):
        measures.problem("hearing", ReviewReason.LOW_ASR_CONFIDENCE.value)
