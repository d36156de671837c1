"""The states of an order, and the only table of transitions between them.

A stage is a verb and its state the past participle: `transcribe` ends in TRANSCRIBED, `decode` in DECODED.
The last, `validate`, ends in one of several states. "In progress" is not a state but a lease on the row.
Storage calls `advance` for every change.
"""

from __future__ import annotations

from enum import StrEnum

from schemas.errors import StaleState


class State(StrEnum):
    RECEIVED = "received"
    TRANSCRIBED = "transcribed"
    DECODED = "decoded"
    PROPOSED = "proposed"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Never stored: stands for a state written by a later release. Nothing here moves such an order."""

    @classmethod
    def stored(cls, value: str) -> State:
        """Parse a stored value; `UNKNOWN` for a state that this release doesn't know."""
        return cls._value2member_map_.get(value, cls.UNKNOWN)  # type: ignore[return-value]


class Event(StrEnum):
    TRANSCRIBED = "transcribed"
    DECODED = "decoded"
    ACCEPTED = "accepted"  # by validate: no doubt
    PROPOSED = "proposed"  # by validate, an answer or a reviewer: the customer must confirm this cart
    CONFIRMED = "confirmed"  # by the customer: as proposed, or corrected
    DOUBTED = "doubted"  # by any stage: a person must look
    APPROVED = "approved"  # by a reviewer: as proposed, or corrected
    REFUSED = "refused"  # by a reviewer
    ANSWERED = "answered"  # by the customer: the last open question
    CHOSEN = "chosen"  # by the customer: one of several open questions, or a reviewer's
    ASKED = "asked"  # by a reviewer: a question to the customer
    DECLINED = "declined"  # by the customer: no answer is right, so a reviewer continues
    BROKE = "broke"  # a permanent error
    CANCELLED = "cancelled"  # by the client
    ADDED_TEXT = "added_text"  # by the customer: more was typed
    ADDED_AUDIO = "added_audio"  # by the customer: more was spoken
    TAKEN = "taken"  # by the shop's system: it is being made and can't change
    REPLAYED = "replayed"  # by an operator: decoded again from its transcript
    REPLAYED_FROM_AUDIO = "replayed_from_audio"  # by an operator: transcribed again


# What a client sees. Ordered as in the contract.
STATUS = {
    State.RECEIVED: "queued",
    State.TRANSCRIBED: "processing",
    State.DECODED: "processing",
    State.PROPOSED: "needs_confirmation",
    State.IN_REVIEW: "needs_review",
    State.COMPLETED: "completed",
    State.REJECTED: "rejected",
    State.FAILED: "error",
    State.CANCELLED: "cancelled",
    State.UNKNOWN: "unknown",
}


class StageName(StrEnum):
    """The stages in order; queues, tasks, metrics and timings use these names."""

    TRANSCRIBE = "transcribe"
    DECODE = "decode"
    VALIDATE = "validate"


# The stage that an order in each state waits for.
STAGES = {
    State.RECEIVED: StageName.TRANSCRIBE,
    State.TRANSCRIBED: StageName.DECODE,
    State.DECODED: StageName.VALIDATE,
}
WAITING = frozenset(STAGES)
# Only an operator can replay an order, from these states.
REPLAYABLE = frozenset({State.FAILED, State.IN_REVIEW})
# The customer can add to an order in these; in review only while it asks a question (the store's `add`).
OPEN = WAITING | {State.PROPOSED, State.IN_REVIEW}
TERMINAL = frozenset({State.COMPLETED, State.REJECTED, State.FAILED, State.CANCELLED})
# A long poll (`?wait=`) returns at these: nothing more happens without a person.
SETTLED = TERMINAL | {State.IN_REVIEW, State.PROPOSED}

TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.RECEIVED, Event.TRANSCRIBED): State.TRANSCRIBED,
    (State.TRANSCRIBED, Event.DECODED): State.DECODED,
    (State.DECODED, Event.ACCEPTED): State.COMPLETED,
    (State.DECODED, Event.PROPOSED): State.PROPOSED,
    (State.PROPOSED, Event.CONFIRMED): State.COMPLETED,
    (State.PROPOSED, Event.CANCELLED): State.CANCELLED,
    (State.IN_REVIEW, Event.PROPOSED): State.PROPOSED,
    (State.IN_REVIEW, Event.APPROVED): State.COMPLETED,
    (State.IN_REVIEW, Event.REFUSED): State.REJECTED,
    (State.IN_REVIEW, Event.ANSWERED): State.COMPLETED,
    (State.IN_REVIEW, Event.CHOSEN): State.IN_REVIEW,
    (State.IN_REVIEW, Event.DECLINED): State.IN_REVIEW,
    (State.IN_REVIEW, Event.ASKED): State.IN_REVIEW,
    (State.IN_REVIEW, Event.CANCELLED): State.CANCELLED,
    # Within the shop's time limit, until it takes the order: see the order store's `cancel`.
    (State.COMPLETED, Event.CANCELLED): State.CANCELLED,
    (State.COMPLETED, Event.TAKEN): State.COMPLETED,
    **{(state, Event.ADDED_AUDIO): State.RECEIVED for state in OPEN},
    **{(state, Event.ADDED_TEXT): State.TRANSCRIBED for state in OPEN - {State.RECEIVED}},
    # A recording is still to be transcribed; the text goes along.
    (State.RECEIVED, Event.ADDED_TEXT): State.RECEIVED,
    **{(state, Event.DOUBTED): State.IN_REVIEW for state in WAITING},
    **{(state, Event.BROKE): State.FAILED for state in WAITING},
    **{(state, Event.CANCELLED): State.CANCELLED for state in WAITING},
    **{(state, Event.REPLAYED): State.TRANSCRIBED for state in REPLAYABLE},
    **{(state, Event.REPLAYED_FROM_AUDIO): State.RECEIVED for state in REPLAYABLE},
}

# The events that end an order.
ENDS = frozenset(event for (_, event), state in TRANSITIONS.items() if state in TERMINAL)


def advance(state: State, event: Event) -> State:
    """Return the next state.

    Raises:
        StaleState: there is no such transition.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise StaleState(f"An order that is {state.value} can't become {event.value}") from None
