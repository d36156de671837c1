"""A bounded run: ask for an action, do it, tell what was seen, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

from services.engines.decoding.completion import How
from services.examples.actions.folder import Folder, ToolRefused
from services.examples.actions.schema import Action, Finish, NextAction, ReadFile, WriteFile
from services.examples.actions.situation import Step, shown, situation
from services.examples.actions.task import TASK
from services.masked.call import MaskedEngine, masked

MOST_ACTIONS = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done; `answer` is None where the bound ended it, and not the model."""

    steps: tuple[Step, ...]
    answer: str | None


def run(
    goal: str,
    folder: Folder,
    *,
    engine: MaskedEngine,
    most: int = MOST_ACTIONS,
    tell: Callable[[Step], None] = lambda _: None,
    **how: Unpack[How],
) -> Outcome:
    """At most so many actions towards a goal. Each is asked for with a fresh chat that tells all before, so
    no earlier answer stands in it as the model's own turn. What a tool refuses is told like what it does.

    Raises: as `masked`; what was done by then is done.
    """
    steps: list[Step] = []
    while len(steps) < most:
        chat = TASK.messages(situation(goal, folder.files(), steps))
        action = masked(NextAction, chat, engine=engine, **how).root
        steps.append(_done(action, folder))
        tell(steps[-1])
        if isinstance(action, Finish):
            return Outcome(tuple(steps), action.text)
    return Outcome(tuple(steps), None)


def _done(action: Action, folder: Folder) -> Step:
    try:
        return Step(action, _seen(action, folder))
    except ToolRefused as error:
        return Step(action, error.detail, refused=True)


def _seen(action: Action, folder: Folder) -> str:
    if isinstance(action, ReadFile):
        return shown(folder.read(action.path))
    if isinstance(action, WriteFile):
        folder.write(action.path, action.text)
        return "written"
    if isinstance(action, Finish):
        return "done"
    return ", ".join(folder.search(action.text)) or "nothing"
