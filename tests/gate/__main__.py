"""The gate: is any order decided worse than when it was recorded?

    python -m tests.gate [SET ...] [--rows] [--people FOLDER]       replay, and compare with the baseline
    python -m tests.gate --live                                     60 samples by the embedded engines
    python -m tests.gate --record [SET ...] [--again]               record what is not yet
    python -m tests.gate --accept [SET ...] [--people FOLDER]       replay, and make this the baseline

Replay needs no model. Exit status 1: a set is past its tolerance (`compare.py`).
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import structlog

from tests.gate.compare import changed_rows, failures, table
from tests.gate.replay import Compared, compare_all
from tests.gate.sets import GateSet, chosen
from tests.gate.store import DATA, set_baseline


def main(argv: list[str] | None = None, data: Path = DATA) -> int:
    args = _parser().parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sets, work = chosen(args.sets), args.work.resolve()
    people = args.people.resolve() if args.people else None
    if args.record:
        from tests.gate.record import Recorder  # it loads the engines

        Recorder(work, people, jobs=args.jobs, again=args.again).record(sets)
        return 0
    if args.live:
        from tests.gate.live import compare_live

        results = compare_live(work, data)
    else:
        results = list(compare_all(sets, people, data=data))
        if args.accept:
            for found in results:
                set_baseline(found.name, [row for _, row in found.pairs], data)
    return _judged(results, sets, rows=args.rows, live=args.live)


def _judged(results: list[Compared], sets: list[GateSet], *, rows: bool, live: bool) -> int:
    if rows:
        for found in results:
            for line in changed_rows(found):
                print(line)
    print(table(results))
    left_out = {one.name for one in sets} - {found.name for found in results}
    if left_out and not live:
        print(f"not compared, since not recorded or without files: {', '.join(sorted(left_out))}")
    return int(not results or any(failures(found) for found in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", help="names of sets; all without any")
    parser.add_argument("--rows", action="store_true", help="show orders that changed, but of sealed sets")
    parser.add_argument("--people", type=Path, help="real people's orders: gold.jsonl, menu.json and audio/")
    parser.add_argument("--live", action="store_true", help="run 60 samples by the embedded engines")
    parser.add_argument("--record", action="store_true", help="record the orders that are not yet")
    parser.add_argument("--again", action="store_true", help="record every order anew; keep the baseline")
    parser.add_argument("--accept", action="store_true", help="make what is replayed the new baseline")
    parser.add_argument("--jobs", type=int, default=2, help="embedded servers that record at once")
    parser.add_argument("--work", type=Path, default=Path("reports/gate"), help="where a recording is kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
