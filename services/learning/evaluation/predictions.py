"""A run's prediction rows on disk: written as each is known, taken up by the same run later.

A row carries the `mark` of all that it rests on: gold row, recording, menu, settings, models, code. So a run
that was stopped goes on where it stopped, and one that would come to something else starts again. Rows that
ended in an error are tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

Row = dict[str, Any]


class Predictions:
    """The file of `--out`, or nothing where there is none. `made_with` names all but the rows."""

    def __init__(
        self, file: Path | None, gold: Sequence[Row], made_with: str, audio_dir: Path | None
    ) -> None:
        self._marks = {row["id"]: _mark(row, made_with, audio_dir) for row in gold} if file else {}
        self._finished = _finished(file, self._marks) if file else {}
        self._out = _begun(file, self._finished.values()) if file else None

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def __len__(self) -> int:
        """How many rows an earlier run had finished."""
        return len(self._finished)

    def known(self, row: Row) -> Row | None:
        """What an earlier run came to for this gold row."""
        return self._finished.get(row["id"])

    def write(self, predicted: Row) -> None:
        """Add a row, unless it is one of an earlier run."""
        if self._out is not None and predicted["id"] not in self._finished:
            _put(self._out, {**predicted, "mark": self._marks[predicted["id"]]})
            self._out.flush()


def _mark(row: Row, made_with: str, audio_dir: Path | None) -> str:
    mark = hashlib.sha256(made_with.encode())
    mark.update(json.dumps(row, sort_keys=True).encode())
    recording = audio_dir / row["audio"] if audio_dir and row.get("audio") else None
    if recording is not None and recording.is_file():
        mark.update(hashlib.sha256(recording.read_bytes()).digest())
    return mark.hexdigest()[:16]


def _finished(file: Path, marks: dict[str, str]) -> dict[str, Row]:
    """Rows of an earlier run that this one would come to as well, by id."""
    if not file.is_file():
        return {}
    found: dict[str, Row] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
        with suppress(ValueError, KeyError, TypeError):  # half a line, of a run that was killed
            row = json.loads(line)
            if "error" not in row and marks.get(row["id"]) == row["mark"]:
                found[row["id"]] = row
    return found


def _begun(file: Path, rows: Any) -> IO[str]:
    """The file with these rows, open for more. Replaced in one step: a run killed here loses nothing."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        for row in rows:
            _put(out, row)
    os.replace(part, file)
    return file.open("a", encoding="utf-8")


def _put(out: IO[str], row: Row) -> None:
    out.write(json.dumps(row, ensure_ascii=False) + "\n")
