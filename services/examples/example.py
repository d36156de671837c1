"""What an example consists of: a task or several to compare, gold rows, and when an answer is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from services.engines.ports import Message
from services.masked.task import Task

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One gold row: what is asked, what is right, and whatever else its file says of it."""

    id: str
    text: str
    gold: Any
    more: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example(Generic[T]):
    """`tasks` are asked the same rows, side by side; the first is the example, each other differs from it in
    the one thing that its name says. `gold` has one JSON object a line: `id`, `text`, `gold`. `judge` gives
    marks by name, of a value and its row: `right` is one of them, more (`category`, `branch`) are shares of
    their own."""

    name: str
    tasks: tuple[Task[T], ...]
    gold: Path
    judge: Callable[[T, Row], dict[str, bool]]

    def rows(self, most: int | None = None) -> Sequence[Row]:
        """The first rows of `gold`, all by default."""
        found = []
        for line in self.gold.read_text(encoding="utf-8").splitlines()[:most]:
            row = json.loads(line)
            found.append(Row(row.pop("id"), row.pop("text"), row.pop("gold"), row))
        return found


def chat(task: Task[Any], row: Row) -> list[Message]:
    """What the task asks about this row, after the earlier turns that the row has for it, if any."""
    return task.messages(row.text, row.more.get(task.history, ()))
