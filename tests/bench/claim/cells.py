"""Cells of the bench: what each is called, and its rows on disk."""

from __future__ import annotations

import gzip
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
        condition = CONDITIONS[self.condition].says
        return f"{condition}, T = {self.temperature:g}, {self.in_flight} in flight{shown}"


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


def pack(results: Path, out: Path) -> None:
    """All rows of each engine's folder in one compressed file, what it was run on first; the same bytes for
    the same rows."""
    out.mkdir(parents=True, exist_ok=True)
    for folder in sorted(path.parent for path in results.glob("*/about.json")):
        lines = [{"about": json.loads((folder / "about.json").read_text(encoding="utf-8"))}]
        for at, methods in cells_of(folder).items():
            for method, rows in methods.items():
                lines += [{"cell": Cell(method, at).name, **row} for row in rows]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
        (out / f"{folder.name}.jsonl.gz").write_bytes(packed)


def unpack(kept: Path, results: Path) -> None:
    """The cells that `pack` kept, as they were, but for those that are there already."""
    for file in sorted(kept.glob("*.jsonl.gz")):
        folder = results / file.name.removesuffix(".jsonl.gz")
        folder.mkdir(parents=True, exist_ok=True)
        head, *lines = gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]
        cells: dict[str, list[str]] = {}
        for line in lines:
            row = json.loads(line)
            cells.setdefault(row.pop("cell"), []).append(json.dumps(row, ensure_ascii=False) + "\n")
        texts = {f"{name}.jsonl": "".join(rows) for name, rows in cells.items()}
        texts["about.json"] = json.dumps(json.loads(head)["about"], indent=1) + "\n"
        for name, text in texts.items():
            if not (folder / name).exists():
                (folder / name).write_text(text, encoding="utf-8")
