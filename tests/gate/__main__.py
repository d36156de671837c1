"""The gate: replay recorded orders and compare their decisions with the baseline.

    python -m tests.gate [SET ...] [--rows] [--people FOLDER]       replay and compare
    python -m tests.gate --live                                     run 60 samples on the embedded engines
    python -m tests.gate --record [SET ...] [--again]               record missing orders
    python -m tests.gate --accept [SET ...] [--people FOLDER]       replay and make the result the baseline

Replay needs no model. Exit status 1: a set exceeds its tolerance (`compare.py`).
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import structlog

from tests.gate.compare import changed_rows, failures, table
from tests.gate.replay import Comparison, compare_all
from tests.gate.sets import GateSet, chosen
from tests.gate.store import DATA, set_baseline


def main(argv: list[str] | None = None, data: Path = DATA) -> int:
    args = _parser().parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sets, work = chosen(args.sets), args.work.resolve()
    people = args.people.resolve() if args.people else None
    if args.record:
        from tests.gate.record import Recorder  # loads the engines

        Recorder(work, people, jobs=args.jobs, again=args.again).record(sets)
        return 0
    if args.live:
        from tests.gate.live import compare_live

        results = compare_live(work, data)
    else:
        results = list(compare_all(sets, people, data=data))
        if args.accept:
            for result in results:
                set_baseline(result.name, [row for _, row in result.pairs], data)
    return _report(results, sets, rows=args.rows, live=args.live)


def _report(results: list[Comparison], sets: list[GateSet], *, rows: bool, live: bool) -> int:
    if rows:
        for result in results:
            for line in changed_rows(result):
                print(line)
    print(table(results))
    skipped = {one.name for one in sets} - {result.name for result in results}
    if skipped and not live:
        print(f"skipped (not recorded, or files missing): {', '.join(sorted(skipped))}")
    return int(not results or any(failures(result) for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", help="names of sets (default: all)")
    parser.add_argument("--rows", action="store_true", help="show changed orders, except of sealed sets")
    parser.add_argument("--people", type=Path, help="real people's orders: gold.jsonl, menu.json and audio/")
    parser.add_argument("--live", action="store_true", help="run 60 samples on the embedded engines")
    parser.add_argument("--record", action="store_true", help="record missing orders")
    parser.add_argument("--again", action="store_true", help="rerecord every order; keep the baseline")
    parser.add_argument("--accept", action="store_true", help="make the replayed rows the new baseline")
    parser.add_argument("--jobs", type=int, default=2, help="number of embedded servers for recording")
    parser.add_argument("--work", type=Path, default=Path("reports/gate"), help="working folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
