"""Run an example's gold rows under its mask, and count valid and exact answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pydantic import BaseModel

from schemas.errors import AnswerRefused, DecodeInvalid, DecodeTruncated
from services.clients.masked.saycart_masked import MaskedEngine, masked
from services.decoding.completion import translated_errors
from services.decoding.tasks import Task


class Row(BaseModel):
    """A gold row: the input text and the right answer, as JSON."""

    id: str
    text: str
    gold: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """A task, and its gold rows as JSON lines."""

    task: Task[Any]
    gold: Path

    def rows(self, limit: int | None = None) -> list[Row]:
        """Return the first `limit` gold rows (default: all)."""
        return [Row.model_validate_json(line) for line in self.gold.read_text().splitlines()[:limit]]


class Figures(NamedTuple):
    """Counts over an example's rows, and the median time of a valid answer. A valid answer is complete,
    inside the mask, and accepted by the model's validators."""

    rows: int
    valid: int
    exact: int
    milliseconds: int | None


def run(example: Example, engine: MaskedEngine, limit: int | None = None) -> Figures:
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
        exact += answer.value.model_dump(mode="json") == row.gold
    return Figures(len(rows), len(times), exact, round(median(times)) if times else None)
