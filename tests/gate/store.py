"""The gate's files: unfinished recordings in a working folder, finished ones packed in `data/`."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from tests.gate.rows import Row
from tests.gate.sets import Order
from tests.gate.tape import PASSES, Entry, Tape, read_lines, write_packed

DATA = Path(__file__).parent / "data"
TAPE, ROWS = "tape.jsonl", "rows.jsonl"


class Store:
    """A set's files in the working folder.

    Starts as a copy of `data`, or empty if the set is recorded `again`. `done` has the ids of orders with a
    row.
    """

    def __init__(self, work: Path, name: str, *, again: bool = False, data: Path = DATA) -> None:
        self._name, self._again, self._data = name, again, data
        stem = f"{name}.again" if again else name
        self._tape, self._rows = work / f"{stem}.{TAPE}", work / f"{stem}.{ROWS}"
        self._lock = threading.Lock()
        work.mkdir(parents=True, exist_ok=True)
        if not again and not self._rows.exists():
            for file in (self._tape, self._rows):
                _append(file, list(read_lines(data / f"{file.name}.gz")))
        self.done = {str(row["id"]) for row in read_lines(self._rows)}
        self._transcripts = [entry for entry in read_lines(self._tape) if entry["key"][0] in PASSES]

    def tape(self, audio: str | None) -> Tape:
        """Return a tape with a recording's transcripts, so that it is not transcribed twice."""
        return Tape(entry for entry in self._transcripts if entry["key"][2] == audio)

    def lacks(self, order: Order, *, spoken: bool) -> bool:
        """Return True if an order has no row, or its recording lacks transcripts."""
        if order.id not in self.done:
            return True
        return spoken and ("whole", "second", order.gold["audio"]) not in self.tape(order.gold["audio"])

    def add(self, entries: list[Entry], row: Row | None = None) -> None:
        """Append an order's entries, then its row: an order without a row is recorded again."""
        with self._lock:
            _append(self._tape, entries)
            if row is not None:
                _append(self._rows, [row.document()])
                self.done.add(row.id)

    def pack(self) -> None:
        """Write the set to `data`. Existing baseline rows stay; rows of new orders are added."""
        entries = {tuple(entry["key"]): entry for entry in read_lines(self._tape)}
        rows = {row["id"]: row for row in read_lines(self._rows)}
        if not rows:
            return
        baseline = self._data / f"{self._name}.{ROWS}.gz"
        rows |= {row["id"]: row for row in read_lines(baseline)}
        write_packed(self._data / f"{self._name}.{TAPE}.gz", [entries[key] for key in sorted(entries)])
        write_packed(baseline, [rows[key] for key in sorted(rows)])
        if self._again:
            for file in (self._tape, self._rows):
                file.unlink()


def recorded(name: str, data: Path = DATA) -> tuple[Tape, dict[str, Row]]:
    """Return a set's tape and its baseline by order id, empty if it was not recorded."""
    rows = (Row.of(document) for document in read_lines(data / f"{name}.{ROWS}.gz"))
    return Tape(read_lines(data / f"{name}.{TAPE}.gz")), {row.id: row for row in rows}


def set_baseline(name: str, rows: list[Row], data: Path = DATA) -> None:
    """Replace a set's baseline with these rows."""
    write_packed(data / f"{name}.{ROWS}.gz", [row.document() for row in sorted(rows, key=lambda r: r.id)])


def _append(file: Path, documents: list[dict[str, Any]]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        for document in documents:
            lines.write(json.dumps(document, ensure_ascii=False) + "\n")
