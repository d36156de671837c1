"""One run over the rows of a gold file, with the engines of this process.

With `out`, each prediction is written as it is known, with a `mark` of all that it rests on: gold row,
recording, menu, settings, models, code. So a run that was stopped goes on where it stopped, and one that
would come to something else starts again. Rows that ended in an error are tried again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from infra.settings import Settings
from services.bootstrap import bootstrap
from services.decoding.hosts.embedded import decode_server
from services.learning.evaluation.figures import Scored, judge
from services.learning.evaluation.provenance import EvalRequest, EvalRun, Row, made_with
from services.learning.evaluation.run import predict


def evaluate(asked: EvalRequest, config: Settings, on_row: Callable[[EvalRun], None]) -> EvalRun:
    """Predict and score every row; `on_row` is called at the start and with each row that is scored.

    Raises:
        ModelError, SupervisorError: an engine can't be started.
    """
    run = EvalRun(broken=[row for row in asked.rows if "error" in row])
    whole = [row for row in asked.rows if "error" not in row]
    marks = _marks(asked, config) if asked.out else {}
    known = _finished(asked.out, marks) if asked.out else {}
    with ExitStack() as stack:
        write = stack.enter_context(_writing(asked.out, known, marks))
        for row in run.broken:
            write(row)
        run.resumed = len(known)
        on_row(run)
        container = bootstrap(stack.enter_context(decode_server(config)))
        container.warm_menu(asked.menu)
        tools = container.tools
        if asked.audio_dir is not None and any(row.get("audio") for row in whole):
            tools.transcriber()  # missing weights end the run here, and not each of its rows
        workers = ThreadPoolExecutor(asked.jobs)
        stack.callback(workers.shutdown, cancel_futures=True)  # Ctrl-C ends it after those under way

        def scored(row: Row) -> Scored:
            return judge(row, known.get(row["id"]) or predict(row, asked.menu, tools, asked.audio_dir))

        for done in workers.map(scored, whole):
            run.rows.append(done)
            write(done.predicted)
            on_row(run)
    return run


def _marks(asked: EvalRequest, config: Settings) -> dict[str, str]:
    """The mark of each row, by its id."""
    marks, common = {}, made_with(asked.menu, config).encode()
    for row in asked.rows:
        mark = hashlib.sha256(common + json.dumps(row, sort_keys=True).encode())
        recording = asked.audio_dir / row["audio"] if asked.audio_dir and row.get("audio") else None
        if recording is not None and recording.is_file():
            mark.update(hashlib.sha256(recording.read_bytes()).digest())
        marks[row["id"]] = mark.hexdigest()[:16]
    return marks


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
def _writing(
    file: Path | None, known: dict[str, Row], marks: dict[str, str]
) -> Iterator[Callable[[Row], None]]:
    """Give what adds a prediction to the file, unless it is of an earlier run; without a file, nothing is
    written. The file is replaced in one step: a run killed here loses no earlier row."""
    if file is None:
        yield lambda _: None
        return
    part = file.with_name(f"{file.name}.part")
    part.write_text("".join(map(_line, known.values())), encoding="utf-8")
    part.replace(file)
    with file.open("a", encoding="utf-8", buffering=1) as out:

        def write(predicted: Row) -> None:
            if predicted["id"] not in known:
                out.write(_line({**predicted, "mark": marks[predicted["id"]]}))

        yield write


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
