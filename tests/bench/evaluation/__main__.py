"""The whole evaluation with the default models: sealed text, sealed speech down the noise ladder, menus by
strangers, and people.

    python -m tests.bench.evaluation [--out FOLDER] [--human FOLDER] [--only NAME,NAME] [--jobs N]

Each set is scored by the product's own command, `saycart eval`, one after the other; its report goes to
OUT/NAME, what it printed to OUT/logs. All sets take hours on two cores. A set that was scored at this very
commit is not scored again, and a set that was cut off goes on from OUT/NAME.jsonl.

Noisy recordings are made once, in OUT/ladder. `--human` names a folder of real people's orders: `gold.jsonl`,
`menu.json` and `audio/`. Counts go to `docs/benchmarks/evaluation.json`. The folders under OUT hold sealed
rows: of these reports, look at the figures only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from services.decoding.hosts.variables import OPENMP_ENV
from services.learning.evaluation.provenance import commit
from tests.bench.evaluation.report import gather, joined, read_figures, table
from tests.bench.evaluation.sets import (
    ROOT,
    Set,
    all_sets,
    chosen,
    cut,
    make_ladder,
    prepare_menus,
    recordings,
)

RESULTS = ROOT / "docs" / "benchmarks" / "evaluation.json"
# Of an operator's settings only where weights lie and how many cores to use: any other could change carts.
PASSED_ON = ("SAYCART_MODELS_DIR", "SAYCART_THREADS")
LAST_WORDS = 2000


def environment(outside: Mapping[str, str], out: Path) -> dict[str, str]:
    """The variables of a set's process: the default models, and a home of its own beside any stack's."""
    ours = ("SAYCART_", "DATABASE_URL", "REDIS_URL")
    kept = {name: value for name, value in outside.items() if not name.startswith(ours) or name in PASSED_ON}
    return {**kept, **OPENMP_ENV, "SAYCART_HOME": str(out / "home"), "NO_COLOR": "1"}


def saycart(words: Sequence[str | Path], out: Path, log: Path) -> None:
    """One command of the product, ended with us.

    Raises:
        SystemExit: it failed; its last words are shown.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "services.cli.main", *map(str, words)],
            cwd=ROOT,
            env=environment(os.environ, out),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            failed = child.wait()
        finally:
            child.terminate()  # its decode server ends with it
            child.wait()
    if failed:
        last = log.read_text(encoding="utf-8")[-LAST_WORDS:]
        raise SystemExit(f"saycart {words[0]} ended with {failed} ({log}):\n{last}")


def request(one: Set, out: Path, jobs: int) -> list[str | Path]:
    """The words that score a set."""
    heard = ("--audio-dir", one.audio) if one.audio else ()
    return [
        *("eval", "--menu", one.source.menu, "--gold", one.gold, *heard),
        *("--out", out / f"{one.name}.jsonl", "--report", out / one.name),
        *("--condition", one.condition, "--jobs", str(jobs)),
    ]


def is_done(one: Set, out: Path, at: str | None) -> bool:
    """Whether its report was made at the commit `at` and of the rows that are there now.

    Where files differ from their commit, or none is known, nobody can tell: then it is not.
    """
    figures = read_figures(out / one.name)
    if figures is None or at is None or at.endswith("and changes"):
        return False
    rows = hashlib.sha256(one.gold.read_bytes()).hexdigest()
    return bool(figures["about"]["commit"] == at and figures["about"]["gold_sha256"] == rows)


def prepare(sets: Sequence[Set], ladders: Path) -> None:
    """Make the rungs that `sets` are heard on."""
    for name in dict.fromkeys(one.source.ladder for one in sets if one.audio):
        mine = [one for one in sets if one.audio and one.source.ladder == name]
        names = sorted({file for gold in {one.gold for one in mine} for file in recordings(gold)})
        started = time.monotonic()
        if make_ladder(mine[0].source.recordings, names, ladders / name):
            print(f"{time.monotonic() - started:6.0f} s noise on {len(names)} recordings", flush=True)


def score(one: Set, out: Path, jobs: int) -> None:
    """Score a set and say in one line what came of it.

    Raises: as `saycart`.
    """
    started = time.monotonic()
    saycart(request(one, out, jobs), out, out / "logs" / f"{one.name}.log")
    found = read_figures(out / one.name) or {}
    print(
        f"{time.monotonic() - started:6.0f} s {one.name}: {found['exact_carts']} of {found['rows']} exact, "
        f"{found['silent_errors']} silent errors",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("reports/evaluation"))
    parser.add_argument("--human", type=Path, help="real people's orders: gold.jsonl, menu.json and audio/")
    parser.add_argument("--only", help="names of sets, with commas between, such as text-harbor-coffee")
    parser.add_argument("--jobs", type=int, default=2, help="orders at once")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the set's process is ended too
    out: Path = args.out.resolve()
    ladders = out / "ladder"
    human = args.human.resolve() if args.human else None
    wanted = chosen(all_sets(out, ladders, human), args.only)
    prepare_menus(wanted)
    for one in wanted:
        if one.audio:
            cut(one)
    at = commit()
    open_ones = [one for one in wanted if not is_done(one, out, at)]
    print(f"at {at}: {len(open_ones)} of {len(wanted)} sets to score", flush=True)
    prepare(open_ones, ladders)
    for one in open_ones:
        score(one, out, args.jobs)

    names = [one.name for one in all_sets(out, ladders, human or out)]  # real people's of an earlier run, too
    found = gather(out, names)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(table([*found["sets"], *joined(found["sets"])]))
    print(f"written: {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
