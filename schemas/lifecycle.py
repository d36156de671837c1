"""States of an order, and the only table of how it may move between them.

A stage is a verb, its state the past participle: `transcribe` ends in TRANSCRIBED, `decode` in DECODED; only
the last, `validate`, ends where the order goes. "In progress" is not a state but a lease on the row.
`advance` is executed by storage at each change, not only drawn here.
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
    """Never stored: a state that a later release has written. Nothing here moves such an order."""

    @classmethod
    def stored(cls, value: str) -> State:
        """What a row says; `UNKNOWN` for what this release has no name for."""
        return cls._value2member_map_.get(value, cls.UNKNOWN)  # type: ignore[return-value]


class Event(StrEnum):
    TRANSCRIBED = "transcribed"
    DECODED = "decoded"
    ACCEPTED = "accepted"  # by validate: no doubt was found
    PROPOSED = "proposed"  # by validate, an answer or a reviewer: the customer has to say yes to this cart
    CONFIRMED = "confirmed"  # by the customer: as proposed, or corrected
    DOUBTED = "doubted"  # by any stage: a human must look
    APPROVED = "approved"  # by a reviewer: as proposed, or corrected
    REFUSED = "refused"  # by a reviewer
    ANSWERED = "answered"  # by the customer: the last open question
    CHOSEN = "chosen"  # by the customer: one of several open questions, or a reviewer's
    ASKED = "asked"  # by a reviewer: a question to the customer
    DECLINED = "declined"  # by the customer: no answer to it is right, so a reviewer goes on
    BROKE = "broke"  # a permanent error
    CANCELLED = "cancelled"  # by the client
    ADDED_TEXT = "added_text"  # by the customer: more was typed
    ADDED_AUDIO = "added_audio"  # by the customer: more was spoken
    TAKEN = "taken"  # by the shop's system: it is being made, and nothing is changed any more
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
    """What is done with an order, in this order; queues, tasks, metrics and timings go by these names."""

    TRANSCRIBE = "transcribe"
    DECODE = "decode"
    VALIDATE = "validate"


# What an order in each state waits for.
STAGES = {
    State.RECEIVED: StageName.TRANSCRIBE,
    State.TRANSCRIBED: StageName.DECODE,
    State.DECODED: StageName.VALIDATE,
}
WAITING = frozenset(STAGES)
# From here an operator can send an order through again. No client and no stage can.
REPLAYABLE = frozenset({State.FAILED, State.IN_REVIEW})
# Here a customer can say or type more; in review while the order asks a question, see the store's `add`.
OPEN = WAITING | {State.PROPOSED, State.IN_REVIEW}
TERMINAL = frozenset({State.COMPLETED, State.REJECTED, State.FAILED, State.CANCELLED})
# A long poll (`?wait=`) returns at these: nothing more happens without a human.
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
    # Where the shop has set a time for it, and until it has taken the order: see the order store's `cancel`.
    (State.COMPLETED, Event.CANCELLED): State.CANCELLED,
    (State.COMPLETED, Event.TAKEN): State.COMPLETED,
    **{(state, Event.ADDED_AUDIO): State.RECEIVED for state in OPEN},
    **{(state, Event.ADDED_TEXT): State.TRANSCRIBED for state in OPEN - {State.RECEIVED}},
    # A recording is still to be transcribed, and the text goes on with it.
    (State.RECEIVED, Event.ADDED_TEXT): State.RECEIVED,
    **{(state, Event.DOUBTED): State.IN_REVIEW for state in WAITING},
    **{(state, Event.BROKE): State.FAILED for state in WAITING},
    **{(state, Event.CANCELLED): State.CANCELLED for state in WAITING},
    **{(state, Event.REPLAYED): State.TRANSCRIBED for state in REPLAYABLE},
    **{(state, Event.REPLAYED_FROM_AUDIO): State.RECEIVED for state in REPLAYABLE},
}

# The events after which nothing follows.
ENDS = frozenset(event for (_, event), state in TRANSITIONS.items() if state in TERMINAL)


def advance(state: State, event: Event) -> State:
    """The state that follows.

    Raises:
        StaleState: the table has no such move.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        if state is State.UNKNOWN:
            raise StaleState(
                "A later release has put this order where this one, which does not know it, leaves it alone: "
                "it is unknown here",
                hint="Ask a part of the newer release, or wait until all are updated.",
            ) from None
        raise StaleState(f"An order that is {state.value} can't become {event.value}") from None
