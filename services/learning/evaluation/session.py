"""One run over the rows of a gold file, with the engines of this process.

With `out`, each prediction is written as it is known, with a `mark` of its gold row, menu, settings and
release. So a run that was stopped goes on where it stopped. Rows that ended in an error are tried again.
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
# What predictions rest on, besides the release.
SETTINGS = {
    *("asr_threshold", "denoiser", "llm_dialect", "llm_model", "max_order_total"),
    *("whisper_device", "whisper_model", "whisper_second"),
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
    """Rows that are scored so far, in the order of the gold file, and those that are broken.

    `resumed` counts the rows that an earlier start of this run had finished.
    """

    rows: list[Scored] = field(default_factory=list)
    broken: list[Row] = field(default_factory=list)
    resumed: int = 0


def evaluate(asked: EvalRequest, config: Settings, on_row: Callable[[EvalRun], None]) -> EvalRun:
    """Predict and score every row; `on_row` is called at the start and with each row that is scored.

    Raises:
        ModelError, SupervisorError: an engine can't be started.
    """
    run = EvalRun(broken=[row for row in asked.rows if "error" in row])
    whole = [row for row in asked.rows if "error" not in row]
    marks = {row["id"]: _mark(row, asked, config) for row in whole}
    known = _finished(asked.out, marks) if asked.out else {}
    run.resumed = len(known)
    with ExitStack() as stack:
        write = stack.enter_context(_writing(asked.out, (*known.values(), *run.broken)))
        on_row(run)
        container = bootstrap(stack.enter_context(decode_server(config)))
        container.warm_menu(asked.menu)
        tools = container.tools
        if asked.audio_dir is not None and any(row.get("audio") for row in whole):
            tools.transcriber()  # missing weights end the run here, and not each of its rows
        for row in whole:
            predicted = known.get(row["id"])
            if predicted is None:
                predicted = {**predict(row, asked.menu, tools, asked.audio_dir), "mark": marks[row["id"]]}
                write(predicted)
            run.rows.append(judge(row, predicted))
            on_row(run)
    return run


def _mark(row: Row, asked: EvalRequest, config: Settings) -> str:
    """A digest of what a row's prediction rests on."""
    settings = config.model_dump(mode="json", include=SETTINGS)
    spoken = asked.audio_dir is not None
    rests_on = (row, spoken, asked.menu.model_dump(mode="json"), settings, version("saycart"))
    return hashlib.sha256(json.dumps(rests_on, sort_keys=True).encode()).hexdigest()[:16]


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


@contextmanager
def _writing(file: Path | None, first: Iterable[Row]) -> Iterator[Callable[[Row], object]]:
    """Give what adds a row to the file, which begins with the rows of `first`; without a file, nothing is
    written. The file is replaced in one step: a run killed here loses no earlier row."""
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
