"""The transition table: what may follow what, and nothing else."""

from __future__ import annotations

from schemas.lifecycle import (
    SETTLED,
    STAGES,
    STATUS,
    TERMINAL,
    TRANSITIONS,
    WAITING,
    Event,
    State,
)
from services.pipeline.flow import FLOW

CONTRACT_STATUSES = {
    "queued", "processing", "needs_confirmation", "needs_review", "completed", "rejected", "error",
    "cancelled", "unknown",
}  # fmt: skip
REPLAYS = {Event.REPLAYED, Event.REPLAYED_FROM_AUDIO}


def test_a_terminal_state_is_left_by_a_replay_of_a_failed_order_and_a_late_cancel_alone() -> None:
    leaves = {(state, event) for state, event in TRANSITIONS if state in TERMINAL}
    late = {(State.COMPLETED, Event.CANCELLED), (State.COMPLETED, Event.TAKEN)}
    assert leaves == {(State.FAILED, event) for event in REPLAYS} | late


def test_every_state_is_reached_and_every_waiting_one_can_be_left() -> None:
    reached = {State.RECEIVED} | set(TRANSITIONS.values())
    assert reached == set(State) - {State.UNKNOWN}
    for state in WAITING:
        leaves = {event for s, event in TRANSITIONS if s is state}
        assert {Event.DOUBTED, Event.BROKE, Event.CANCELLED} < leaves


def test_no_cycle() -> None:
    """An order only ever moves on, unless an operator replays it; a retry is an attempt in the same state. A
    question that its customer answers or declines is not asked again, and they add to it ten times. Staff may
    ask as often as they like."""
    stay = {*REPLAYS, Event.ADDED_TEXT, Event.ADDED_AUDIO, Event.CHOSEN, Event.DECLINED, Event.TAKEN}
    stay.add(Event.ASKED)
    after = {
        state: {to for (s, event), to in TRANSITIONS.items() if s is state and event not in stay}
        for state in State
    }

    def ends(state: State, seen: frozenset[State]) -> None:
        assert state not in seen
        for following in after[state]:
            ends(following, seen | {state})

    ends(State.RECEIVED, frozenset())


def test_the_sets_part_the_states() -> None:
    assert set(State) - {State.UNKNOWN} == WAITING | SETTLED
    assert not WAITING & SETTLED
    assert {State.IN_REVIEW, State.PROPOSED} == SETTLED - TERMINAL


def test_statuses_are_those_of_the_contract() -> None:
    assert set(STATUS) == set(State)
    assert set(STATUS.values()) == CONTRACT_STATUSES
    assert {STATUS[state] for state in WAITING} == {"queued", "processing"}


def test_only_validate_review_and_the_customer_complete_an_order() -> None:
    ways = {key for key, to in TRANSITIONS.items() if to is State.COMPLETED}
    assert ways == {
        (State.DECODED, Event.ACCEPTED),
        (State.IN_REVIEW, Event.APPROVED),
        (State.IN_REVIEW, Event.ANSWERED),
        (State.PROPOSED, Event.CONFIRMED),
        (State.COMPLETED, Event.TAKEN),
    }


def test_the_flow_has_one_stage_for_each_waiting_state() -> None:
    assert set(FLOW) == WAITING
    assert [stage.name for stage in FLOW.values()] == ["transcribe", "decode", "validate"]
    assert {state: stage.name for state, stage in FLOW.items()} == STAGES


def test_a_state_of_a_later_release_is_unknown_and_nothing_leads_from_or_to_it() -> None:
    assert [State.stored(value) for value in ("decoded", "boxed")] == [State.DECODED, State.UNKNOWN]
    assert State.UNKNOWN not in {state for state, _ in TRANSITIONS} | set(TRANSITIONS.values())
