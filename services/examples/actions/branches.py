"""Wrong branches of each task and method, from the answers that a run of `services.examples` kept.

    python -m services.examples.actions.branches reports/examples/SERVER-MODEL/actions

Only rows that every task and method was asked count, so that shares stand side by side. An answer that is
no action at all (`failed`) took no branch, and counts beside the wrong ones. The last column holds each task
against the first, by the same method: right branches won, lost, and the exact McNemar test.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.evaluation.statistics import mcnemar, wilson
from services.examples.actions.task import EXAMPLE, TASKS

METHODS = ("masked", "prompt")
KINDS = ("search", "read_file", "write_file", "finish")

Document = dict[str, Any]
Answers = dict[str, Document]


def load(folder: Path) -> dict[tuple[str, str], Answers]:
    """Answers by row, for each task and method; of a row that was asked again, the last."""
    found = {}
    for task in TASKS:
        for method in METHODS:
            file = folder / f"{task.name}.{method}.jsonl"
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            found[task.name, method] = {answer["id"]: answer for answer in map(json.loads, lines)}
    return found


def table(found: dict[tuple[str, str], Answers]) -> list[str]:
    """A line a task and method, in Markdown."""
    shared = set.intersection(*(set(answers) for answers in found.values()))
    rows = [row for row in EXAMPLE.rows() if row.id in shared]
    lines = [
        "| task | method | rows | failed | wrong branch | 95% | right | as before | won / lost, p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (task, method), answers in found.items():
        here = [answers[row.id] for row in rows]
        first = [found[TASKS[0].name, method][row.id] for row in rows]
        failed = sum(bool(answer["failure"]) for answer in here)
        wrong = len(rows) - failed - _hits(here, "branch")
        low, high = wilson(wrong, len(rows))
        cells = [task, method, len(rows), failed, wrong, f"{low:.1%} to {high:.1%}", _hits(here, "right")]
        cells += [_hits(here, "as_before"), "" if task == TASKS[0].name else _paired(first, here)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def went(found: dict[tuple[str, str], Answers], method: str = "masked") -> list[str]:
    """Of each task, the right kind and how often each kind was chosen in its place."""
    lines = [f"| task | right kind | {' | '.join(KINDS)} |", f"|---|---|{'---|' * len(KINDS)}"]
    gold = {row.id: row.gold["kind"] for row in EXAMPLE.rows()}
    for task in TASKS:
        answers = found[task.name, method].values()
        chosen = Counter((gold[one["id"]], (one["value"] or {}).get("kind")) for one in answers)
        for right in KINDS:
            counts = " | ".join(str(chosen[right, kind]) for kind in KINDS)
            lines.append(f"| {task.name} | {right} | {counts} |")
    return lines


def mended(found: dict[tuple[str, str], Answers]) -> list[str]:
    """What the mask made of rows whose answer without it was no action."""
    lines = [
        "| task | failed without a mask | right branch under it | wrong branch under it |",
        "|---|---|---|---|",
    ]
    for task in TASKS:
        masked, prompted = found[task.name, "masked"], found[task.name, "prompt"]
        failed = [masked[id] for id, answer in prompted.items() if answer["failure"] and id in masked]
        right = _hits(failed, "branch")
        lines.append(f"| {task.name} | {len(failed)} | {right} | {len(failed) - right} |")
    return lines


def _hits(answers: Sequence[Document], mark: str) -> int:
    return sum(answer["marks"].get(mark, False) for answer in answers)


def _paired(first: Sequence[Document], here: Sequence[Document]) -> str:
    pairs = [
        (a["marks"].get("branch", False), b["marks"].get("branch", False))
        for a, b in zip(first, here, strict=True)
    ]
    worse, better = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return f"{better} / {worse}, {mcnemar(better, worse):.3f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 shown, 2 wrong use or no answers there."""
    args = list(sys.argv[1:] if argv is None else argv)
    if len(args) != 1 or not any(Path(args[0]).glob("*.jsonl")):
        print("Use: branches FOLDER, one with answers; `make examples` makes them.", file=sys.stderr)
        return 2
    found = load(Path(args[0]))
    print("\n".join([*table(found), "", *mended(found), "", *went(found)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
