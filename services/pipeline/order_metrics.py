"""The runner's metrics of orders: problems by kind (`docs/metrics.md` has the kinds), and durations."""

from __future__ import annotations

from infra.observability import measures
from schemas.errors import DecodeInvalid, DecodeTruncated, EngineUnavailable, RecordingLost
from schemas.lifecycle import SETTLED, STAGES, State
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason

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
RETRY, DROPPED, NOT_STORED = "retry", "dropped", "not_stored"


def outcome_of(moved: OrderRecord) -> str:
    """Return a stage's outcome: `review`, `error`, or else `done`."""
    return _ENDS.get(moved.state, measures.DONE)


def committed(moved: OrderRecord, outcome: Outcome) -> None:
    """Count a stored outcome's doubts, and the order's whole time once it has settled.

    A replayed order counts again, from its first acceptance.
    """
    if not outcome.detail.get("code"):  # else it failed, which `failures.py` counts
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
