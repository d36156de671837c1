"""Cells of the bench: what each is called, and its rows on disk."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.bench.claim import form
from tests.bench.claim.pipelines import METHODS
from tests.bench.claim.spoken import CONDITIONS

_NAME = re.compile(
    rf"({'|'.join(sorted(METHODS, key=len, reverse=True))})-({'|'.join(CONDITIONS)})"
    r"-T([\d.]+)-x(\d+)(?:-(\d+)shot)?"
)


@dataclass(frozen=True, slots=True)
class Setting:
    """All of a cell but the method. `examples` are those in the old pipeline's prompt."""

    condition: str
    temperature: float
    in_flight: int
    examples: int = form.EXAMPLES

    @property
    def says(self) -> str:
        shown = "" if self.examples == form.EXAMPLES else f", {self.examples} examples"
        return f"{self.condition}, T = {self.temperature:g}, {self.in_flight} in flight{shown}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One method in one setting; `name` is that of its file, without the suffix."""

    method: str
    setting: Setting

    @property
    def name(self) -> str:
        at = self.setting
        shown = "" if at.examples == form.EXAMPLES else f"-{at.examples}shot"
        return f"{self.method}-{at.condition}-T{at.temperature:g}-x{at.in_flight}{shown}"

    @classmethod
    def named(cls, name: str) -> Self | None:
        """The cell of a file's name; None where it is no cell's."""
        told = _NAME.fullmatch(name)
        if told is None:
            return None
        shown = int(told[5]) if told[5] else form.EXAMPLES
        return cls(told[1], Setting(told[2], float(told[3]), int(told[4]), shown))


def engine(dialect: str, model: str) -> str:
    """The name of the folder of all cells of one server and model."""
    return f"{dialect}-{Path(model).name.removesuffix('.gguf')}"


def cells_of(folder: Path) -> dict[Setting, dict[str, list[dict[str, Any]]]]:
    """The rows of a folder by setting and method; half a line, of a run that was killed, is left out."""
    found: dict[Setting, dict[str, list[dict[str, Any]]]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        cell = Cell.named(file.stem)
        if cell is not None:
            lines = file.read_text(encoding="utf-8").split("\n")[:-1]
            found.setdefault(cell.setting, {})[cell.method] = [json.loads(line) for line in lines]
    return found
