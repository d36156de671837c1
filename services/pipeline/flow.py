"""THE MAP: how an order goes through. One row a stage.

    RECEIVED --transcribe--> TRANSCRIBED --decode--> DECODED --validate--> COMPLETED
    from each of them, with any doubt, to IN_REVIEW

A stage takes orders in one state, from one queue of its own name. One that is `at_hand` needs no engine and
takes milliseconds: the worker that brought an order there runs it at once, and its queue is only for what was
left behind. `limit_s` is enforced from outside the task, twice: Celery's prefork pool kills the process, and
the heartbeat lets the order go, which holds on a pool of threads as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.lifecycle import StageName, State
from schemas.records.orders import OrderRecord, Outcome
from services.pipeline import stages
from services.pipeline.ports import Tools


@dataclass(frozen=True, slots=True)
class Stage:
    """One row of the map."""

    name: StageName
    state: State
    step: Callable[[OrderRecord, Tools], Outcome]
    limit_s: int
    at_hand: bool = False


FLOW: dict[State, Stage] = {
    stage.state: stage
    for stage in (
        Stage(StageName.TRANSCRIBE, State.RECEIVED, stages.transcribe, limit_s=150),
        Stage(StageName.DECODE, State.TRANSCRIBED, stages.decode, limit_s=200),
        Stage(StageName.VALIDATE, State.DECODED, stages.validate, limit_s=30, at_hand=True),
    )
}
BY_NAME: dict[str, Stage] = {stage.name: stage for stage in FLOW.values()}
AT_HAND_S = sum(stage.limit_s for stage in FLOW.values() if stage.at_hand)
"""Seconds that a worker may take for what it goes on with after a stage of its own."""


def next_stage(state: State) -> str | None:
    """Name of the stage that an order in `state` waits for; None when it is settled."""
    stage = FLOW.get(state)
    return stage.name if stage else None
