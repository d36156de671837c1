"""Evaluate the rows of a gold file, with the engines of this process.

With `out`, each prediction is written as soon as it is made, with a `mark`: a digest of its gold row, menu,
settings and release. An interrupted run resumes from these. Rows that ended in an error are tried again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infra.settings import Settings
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.decoding.hosts.embedded import decode_server
from services.learning.evaluation.figures import Scored, judge
from services.learning.evaluation.run import predict

Row = dict[str, Any]
# The settings that predictions depend on.
SETTINGS = {
    *("asr_threshold", "denoiser", "llm_dialect", "llm_model", "max_order_total"),
    *("whisper_model", "whisper_second"),
}


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """Gold rows to score, as `read_rows` returns them, and how."""

    menu: Menu
    rows: list[Row]
    audio_dir: Path | None = None
    out: Path | None = None


@dataclass(slots=True)
class EvalRun:
    """Rows scored so far, in the order of the gold file, and broken ones.

    `resumed` counts the rows that were taken from an earlier run.
    """

    rows: list[Scored] = field(default_factory=list)
    broken: list[Row] = field(default_factory=list)
    resumed: int = 0


def evaluate(request: EvalRequest, config: Settings, on_row: Callable[[EvalRun], None]) -> EvalRun:
    """Predict and score every row; calls `on_row` at the start and after each row.

    Raises:
        ModelError, SupervisorError: an engine can't be started.
    """
    run = EvalRun(broken=[row for row in request.rows if "error" in row])
    valid = [row for row in request.rows if "error" not in row]
    marks = {row["id"]: _mark(row, request, config) for row in valid}
    earlier = _finished(request.out, marks) if request.out else {}
    run.resumed = len(earlier)
    with ExitStack() as stack:
        write = stack.enter_context(_writing(request.out, (*earlier.values(), *run.broken)))
        on_row(run)
        container = bootstrap(stack.enter_context(decode_server(config)))
        container.warm_menu(request.menu)
        tools = container.tools
        if request.audio_dir is not None and any(row.get("audio") for row in valid):
            tools.transcriber()  # fail once if weights are missing, rather than on each row
        for row in valid:
            predicted = earlier.get(row["id"])
            if predicted is None:
                predicted = {**predict(row, request.menu, tools, request.audio_dir), "mark": marks[row["id"]]}
                write(predicted)
            run.rows.append(judge(row, predicted))
            on_row(run)
    return run


def _mark(row: Row, request: EvalRequest, config: Settings) -> str:
    """Return a digest of everything that a row's prediction depends on."""
    settings = config.model_dump(mode="json", include=SETTINGS)
    spoken = request.audio_dir is not None
    inputs = (row, spoken, request.menu.model_dump(mode="json"), settings, version("saycart"))
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def _finished(file: Path, marks: dict[str, str]) -> dict[str, Row]:
    """Return the rows of an earlier run that are still valid, by id."""
    if not file.is_file():
        return {}
    rows: dict[str, Row] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
        with suppress(ValueError, KeyError, TypeError):  # a line cut off when the run was killed
            row = json.loads(line)
            if "error" not in row and marks.get(row["id"]) == row["mark"]:
                rows[row["id"]] = row
    return rows


@contextmanager
def _writing(file: Path | None, first: Iterable[Row]) -> Iterator[Callable[[Row], object]]:
    """Yield a function that appends a row to the file, which starts with the rows of `first`; without a file
    it does nothing. The file is replaced in one step, so a run killed here loses no earlier row."""
    if file is None:
        yield lambda _: None
        return
    part = file.with_name(f"{file.name}.part")
    part.write_text("".join(map(_line, first)), encoding="utf-8")
    part.replace(file)
    with file.open("a", encoding="utf-8", buffering=1) as out:
        yield lambda row: out.write(_line(row))


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
