"""The claim's old pipeline beside the new: from recording to priced cart, on the same engine and recordings.

    python -m tests.bench.claim [--orders 24] [--conditions clean] [--temperatures 0,0.7] [--in-flight 1]
                                [--methods old,masked,ours] [--minutes 4]
                                [--url URL --dialect vllm --model NAME]

A cell is one method at one condition, temperature and number in flight; its rows are OUT/ENGINE/CELL.jsonl
with every raw answer, and an order that is there is not asked again. Without `--url` the embedded llama.cpp
serves; the learned reader's own server beside it is greedy, so `ours-reader` is asked at temperature 0 alone
there. A block of orders goes through every method before the next, so that what else the machine does strikes
all alike. First every recording is heard, once (OUT/heard; see `ears.py`). Afterwards:
`python -m tests.bench.claim.report`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.settings import Settings, settings
from services.bootstrap import bootstrap
from services.engines.servers.embedded import decode_server
from services.engines.servers.llama_server import OPENMP_ENV
from services.evaluation.run import predict
from services.pipeline.ports import Tools
from tests.bench.claim import form
from tests.bench.claim.cells import Cell, Setting, engine
from tests.bench.claim.ears import Stopwatch, TimedEars
from tests.bench.claim.pipelines import METHODS, Bench, Pipeline, Row
from tests.bench.claim.spoken import CONDITIONS, Spoken, heard_in, spread
from tests.bench.techniques.__main__ import blocks, done

BLOCK = 6


def heard_tools(config: Settings, home: Path, out: Path, in_flight: int) -> tuple[Tools, Stopwatch]:
    """The product's tools without a decoder, whose recognisers keep what they hear, with its time, where one
    order is in flight."""
    watch, container = Stopwatch(), bootstrap(config.model_copy(update={"home": home}))
    folder = out / "heard" if in_flight == 1 else None
    first = TimedEars(container.transcriber, config.whisper_model, folder, watch)
    ears = container.second_transcriber
    second = TimedEars(ears, config.whisper_second, folder, watch) if ears else None
    container.load_hearing()
    tools = replace(container.tools, transcriber=lambda: first, second_transcriber=lambda: second)
    return tools, watch


def hear(orders: list[tuple[Spoken, Path]], tools: Tools, until: float) -> bool:
    """Every recording heard as ours hears it, so that a second hearing follows its first at once; whether all
    were. What cannot be decoded after that is of no interest here."""
    nobody = replace(tools, decoder=lambda: None, skip_settled=True, reader="off")  # type: ignore[arg-type,return-value]
    for one, file in orders:
        if time.monotonic() > until:
            return False
        predict({"id": one.id, "audio": file.name}, one.menu, nobody, file.parent)
    return True


def run(
    pipelines: dict[Path, Pipeline], orders: list[tuple[Spoken, Path]], in_flight: int, until: float
) -> bool:
    """All blocks through all pipelines, by the file of their cell; whether there was time for all."""
    known, warmed = {file: done(file) for file in pipelines}, set[tuple[Path, str]]()

    def row(pipeline: Pipeline, one: Spoken, recording: Path) -> Row | None:
        return pipeline.row(one, recording) if time.monotonic() < until else None

    with ThreadPoolExecutor(in_flight) as pool:
        for block in blocks(orders, max(BLOCK, in_flight)):
            for file, pipeline in pipelines.items():
                todo = [(one, recording) for one, recording in block if one.id not in known[file]]
                for menu in {one.menu.id: one.menu for one, _ in todo}.values():
                    if (file, menu.id) not in warmed and time.monotonic() < until:
                        # As many at once as orders later, since llama.cpp keeps a prompt slot by slot.
                        list(pool.map(lambda _, p=pipeline, m=menu: p.warm(m), range(in_flight)))
                        warmed.add((file, menu.id))
                with file.open("a", encoding="utf-8") as out:
                    for found in pool.map(lambda pair, p=pipeline: row(p, *pair), todo):
                        if found is not None:
                            out.write(json.dumps(found, ensure_ascii=False) + "\n")
                            out.flush()
            print(f"{block[-1][0].id}", flush=True)
            if time.monotonic() > until:
                return False
    return True


def able(methods: list[str], temperature: float, *, embedded: bool) -> list[str]:
    """Those that can be asked at a temperature: the learned reader's own server is greedy."""
    return [name for name in methods if name != "ours-reader" or not (embedded and temperature)]


def about(args: argparse.Namespace) -> dict[str, Any]:
    """What a folder of cells was run on."""
    return {
        "dialect": args.dialect,
        "model": Path(args.model).name,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "started_elsewhere": bool(args.url),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("reports/claim"))
    parser.add_argument("--orders", type=int, default=109, help="recordings of each condition, at even steps")
    parser.add_argument("--conditions", default="clean,babble-20,babble-10")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--temperatures", default="0,0.7")
    parser.add_argument(
        "--in-flight", type=int, default=1, help="orders at once; they hear for themselves then"
    )
    parser.add_argument("--examples", type=int, default=form.EXAMPLES, help="in the old pipeline's prompt")
    parser.add_argument("--url", help="of a server that runs already")
    parser.add_argument("--dialect", choices=("llama.cpp", "vllm"), default="llama.cpp")
    parser.add_argument("--model", default=settings().llm_model)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after so long, to go on later")
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    methods, conditions = args.methods.split(","), args.conditions.split(",")
    if unknown := {*methods} - {*METHODS} | {*conditions} - {*CONDITIONS}:
        parser.error(f"no such method or condition: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    os.environ.update(OPENMP_ENV)
    out = args.out / engine(args.dialect, args.model)
    out.mkdir(parents=True, exist_ok=True)
    (out / "about.json").write_text(json.dumps(about(args), indent=1) + "\n")
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        named = {"llm_url": args.url or "", "llm_dialect": args.dialect, "llm_model": args.model}
        if args.in_flight > settings().llm_slots:
            named["llm_slots"] = args.in_flight
        config = settings().model_copy(update=named)
        tools, watch = heard_tools(config, home, args.out, args.in_flight)
        whole = {
            name: [(one, heard_in(one, name, args.out / "audio")) for one in spread(args.orders, name)]
            for name in conditions
        }
        if args.in_flight == 1 and not all(hear(orders, tools, until) for orders in whole.values()):
            print("not all is heard yet; run it again to go on")
            return 0
        served = stack.enter_context(decode_server(config, reader_too="ours-reader" in methods))
        of = served.llm_url, args.dialect, args.model, args.examples, served.llm_api_key, served.reader_url
        bench = Bench(tools, watch, *of)
        finished = True
        for temperature in map(float, args.temperatures.split(",")):
            for condition, orders in whole.items():
                at = Setting(condition, temperature, args.in_flight, args.examples)
                asked = able(methods, temperature, embedded=not args.url)
                pipelines = {
                    out / f"{Cell(name, at).name}.jsonl": bench.pipeline(name, temperature) for name in asked
                }
                left_out = "".join(f", without {name}" for name in methods if name not in asked)
                print(f"{at.says}{left_out}", flush=True)
                finished = finished and run(pipelines, orders, args.in_flight, until)
    print("all done" if finished else "not all is done yet; run it again to go on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
