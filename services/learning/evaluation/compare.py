"""Two runs over the same gold rows: which orders changed, and whether it is more than chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import InputError
from services.learning.evaluation.figures import Scored, counts, judge
from services.learning.evaluation.report import FIGURES, PREDICTIONS
from services.learning.evaluation.statistics import paired_interval


@dataclass(frozen=True, slots=True)
class Run:
    """One side of a comparison."""

    name: str
    about: dict[str, Any]
    rows: list[Scored]


@dataclass(frozen=True, slots=True)
class Change:
    """A way in which an order may differ between the runs."""

    name: str
    holds: Callable[[Scored, Scored], bool]


CHANGES = (
    Change("right to wrong", lambda a, b: a.exact and not b.exact),
    Change("wrong to right", lambda a, b: b.exact and not a.exact),
    Change("became a silent error", lambda a, b: b.silent and not a.silent),
    Change("no longer a silent error", lambda a, b: a.silent and not b.silent),
    Change("accepted to review", lambda a, b: b.review and not a.review),
    Change("review to accepted", lambda a, b: a.review and not b.review),
)


def load_run(folder: Path) -> Run:
    """Read the folder of a report.

    Raises:
        InputError: it isn't one, or not whole.
    """
    try:
        about = json.loads((folder / FIGURES).read_text(encoding="utf-8"))["about"]
        lines = (folder / PREDICTIONS).read_text(encoding="utf-8").rstrip("\n").split("\n")
        predicted = [
            row for row in map(json.loads, lines) if "cart" in row
        ]  # else a broken row of the gold file
        rows = [judge({"id": row["id"], "cart": row["gold"]}, row) for row in predicted]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder} is not a whole report: {error!r}", hint="Name two folders that `eval --report` wrote."
        ) from None
    return Run(folder.name, about, rows)


def compare(before: Run, after: Run) -> dict[str, Any]:
    """Both runs' figures, the ids of what changed, and paired intervals of exact carts and silent errors.

    Raises:
        InputError: the runs are not over the same rows.
    """
    pairs = _pairs(before, after)
    return {
        "a": {"name": before.name, "about": before.about, **counts([a for a, _ in pairs])},
        "b": {"name": after.name, "about": after.about, **counts([b for _, b in pairs])},
        "changes": {
            change.name: [a.gold["id"] for a, b in pairs if change.holds(a, b)] for change in CHANGES
        },
        "tests": {
            "exact carts": _test([(a.exact, b.exact) for a, b in pairs]),
            "silent errors": _test([(a.silent, b.silent) for a, b in pairs]),
        },
    }


def _pairs(before: Run, after: Run) -> list[tuple[Scored, Scored]]:
    """Rows side by side, in the order of the first run."""
    one, other = ({row.gold["id"]: row for row in run.rows} for run in (before, after))
    only = [
        f"{len(ids)} only in {run.name} ({', '.join(sorted(ids)[:3])})"
        for run, ids in ((before, one.keys() - other.keys()), (after, other.keys() - one.keys()))
        if ids
    ]
    if only or not one:
        raise InputError(
            f"The runs are not over the same orders: {'; '.join(only) or 'both are empty'}",
            hint="Compare two runs of one gold file, with the same --limit.",
        )
    return [(row, other[name]) for name, row in one.items()]


def _test(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Count the rows that changed; the difference in share (b less a) and its interval."""
    gained = sum(b and not a for a, b in pairs)
    lost = sum(a and not b for a, b in pairs)
    return {
        "only_a": lost,
        "only_b": gained,
        "difference": round((gained - lost) / len(pairs), 4),
        "difference_ci": paired_interval([a for a, _ in pairs], [b for _, b in pairs]),
    }
