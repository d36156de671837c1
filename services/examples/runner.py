"""Run an example's gold rows under its mask, and count valid and exact answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Generic, TypeVar

from schemas.errors import AnswerRefused, DecodeInvalid, DecodeTruncated
from services.clients.masked.saycart_masked import MaskedEngine, masked
from services.decoding.completion import translated_errors
from services.decoding.tasks import Task

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A gold row: the input text and the right answer."""

    id: str
    text: str
    gold: Any


@dataclass(frozen=True, slots=True)
class Example(Generic[T]):
    """A task, its gold rows (JSON lines with `id`, `text` and `gold`), and the test for an exact answer."""

    task: Task[T]
    gold: Path
    exact: Callable[[T, Any], bool]

    def rows(self, limit: int | None = None) -> list[Row]:
        """Return the first `limit` gold rows (default: all)."""
        lines = self.gold.read_text(encoding="utf-8").splitlines()[:limit]
        return [Row(**json.loads(line)) for line in lines]


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts over an example's rows, and the median time of a valid answer. A valid answer is complete,
    inside the mask, and accepted by the model's validators."""

    rows: int
    valid: int
    exact: int
    milliseconds: int | None


def run(example: Example[Any], engine: MaskedEngine, limit: int | None = None) -> Figures:
    """Run each row once.

    Raises:
        EngineUnavailable: the server is down.
    """
    rows, exact, times = example.rows(limit), 0, []
    for row in rows:
        try:
            with translated_errors():
                answer = masked(example.task.output, example.task.messages(row.text), engine=engine)
        except (AnswerRefused, DecodeInvalid, DecodeTruncated):
            continue
        times.append(answer.completed.seconds * 1000)
        exact += example.exact(answer.value, row.gold)
    return Figures(len(rows), len(times), exact, round(median(times)) if times else None)
