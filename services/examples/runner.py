"""Ask an example's gold rows under its mask, and count valid and exact answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Generic, TypeVar

from schemas.errors import AnswerRefused, DecodeInvalid, DecodeTruncated
from services.decoding.masked.call import MaskedEngine, answer
from services.decoding.masked.task import Task

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A gold row: the text to ask about and the right answer."""

    id: str
    text: str
    gold: Any


@dataclass(frozen=True, slots=True)
class Example(Generic[T]):
    """A task, its gold rows (one JSON object a line: `id`, `text`, `gold`), and when an answer is exact."""

    task: Task[T]
    gold: Path
    exact: Callable[[T, Any], bool]

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name

    def rows(self, limit: int | None = None) -> list[Row]:
        """Return the first `limit` gold rows, all by default."""
        lines = self.gold.read_text(encoding="utf-8").splitlines()[:limit]
        return [Row(**json.loads(line)) for line in lines]


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of one row. A valid answer is whole and accepted by the model's validators."""

    id: str
    valid: bool
    exact: bool
    milliseconds: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts over an example's rows, and the median time of a valid answer."""

    rows: int
    valid: int
    exact: int
    milliseconds: int | None


def run(example: Example[T], engine: MaskedEngine, limit: int | None = None) -> list[Answered]:
    """Ask each row once.

    Raises:
        EngineUnavailable: the server is down.
    """
    return [_asked(example, row, engine) for row in example.rows(limit)]


def figures(answers: Sequence[Answered]) -> Figures:
    """Count the outcomes."""
    times = [answer.milliseconds for answer in answers if answer.milliseconds is not None]
    return Figures(
        rows=len(answers),
        valid=sum(answer.valid for answer in answers),
        exact=sum(answer.exact for answer in answers),
        milliseconds=round(median(times)) if times else None,
    )


def _asked(example: Example[T], row: Row, engine: MaskedEngine) -> Answered:
    task = example.task
    try:
        found = answer(task.output, task.messages(row.text), engine=engine)
    except (AnswerRefused, DecodeInvalid, DecodeTruncated):
        return Answered(row.id, valid=False, exact=False, milliseconds=None)
    exact = example.exact(found.value, row.gold)
    return Answered(row.id, valid=True, exact=exact, milliseconds=found.completed.seconds * 1000)
