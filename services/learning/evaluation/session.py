"""One run over the rows of a gold file, with the engines of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from infra.settings import Settings
from services.bootstrap import bootstrap
from services.decoding.hosts.embedded import decode_server
from services.learning.evaluation.figures import Scored, judge
from services.learning.evaluation.predictions import Predictions
from services.learning.evaluation.provenance import EvalRequest, EvalRun, Row, made_with
from services.learning.evaluation.run import predict


def evaluate(asked: EvalRequest, config: Settings, on_row: Callable[[EvalRun], None]) -> EvalRun:
    """Predict and score every row; `on_row` is called at the start and with each row that is scored.

    Raises:
        ModelError, SupervisorError: an engine can't be started.
    """
    run = EvalRun(broken=[row for row in asked.rows if "error" in row])
    whole = [row for row in asked.rows if "error" not in row]
    mark = made_with(asked.menu, config)
    with ExitStack() as stack:
        predictions = stack.enter_context(closing(Predictions(asked.out, asked.rows, mark, asked.audio_dir)))
        for row in run.broken:
            predictions.write(row)
        run.resumed = len(predictions)
        on_row(run)
        container = bootstrap(stack.enter_context(decode_server(config)))
        container.warm_menu(asked.menu)
        tools = container.tools
        if asked.audio_dir is not None and any(row.get("audio") for row in whole):
            tools.transcriber()  # missing weights end the run here, and not each of its rows
        workers = ThreadPoolExecutor(asked.jobs)
        stack.callback(workers.shutdown, cancel_futures=True)  # Ctrl-C ends it after those under way

        def scored(row: Row) -> Scored:
            known = predictions.known(row)
            return judge(row, known or predict(row, asked.menu, tools, asked.audio_dir))

        for done in workers.map(scored, whole):
            run.rows.append(done)
            predictions.write(done.predicted)
            on_row(run)
    return run
