"""THE MAP of an order's stages, one row each.

    RECEIVED --transcribe--> TRANSCRIBED --decode--> DECODED --validate--> COMPLETED
    from each of them, with any doubt, to IN_REVIEW
    back to RECEIVED or TRANSCRIBED, when the customer says or types more before the order is confirmed

A stage takes orders in one state, from a queue of its own name. An `inline` stage needs no engine and takes
milliseconds: the worker of the stage before runs it at once, and its queue is only for orders whose worker
died in between. `limit_s` is enforced from outside the task, twice: Celery's prefork pool kills the process,
and the heartbeat releases the order, which works on a pool of threads as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.lifecycle import StageName, State
from schemas.records.orders import OrderRecord, Outcome
from services.pipeline import stages
from services.pipeline.stages import Tools


@dataclass(frozen=True, slots=True)
class Stage:
    """One row of the map."""

    name: StageName
    state: State
    step: Callable[[OrderRecord, Tools], Outcome]
    limit_s: int
    inline: bool = False


FLOW: dict[State, Stage] = {
    stage.state: stage
    for stage in (
        Stage(StageName.TRANSCRIBE, State.RECEIVED, stages.transcribe, limit_s=150),
        Stage(StageName.DECODE, State.TRANSCRIBED, stages.decode, limit_s=200),
        Stage(StageName.VALIDATE, State.DECODED, stages.validate, limit_s=30, inline=True),
    )
}
BY_NAME: dict[str, Stage] = {stage.name: stage for stage in FLOW.values()}
INLINE_S = sum(stage.limit_s for stage in FLOW.values() if stage.inline)
"""The time limit of all inline stages together, which run after a worker's own stage."""
