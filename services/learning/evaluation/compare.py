"""Two runs over the same gold rows: which orders changed, and whether it is more than chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import InputError
from services.learning.evaluation.cases import Names, side_by_side
from services.learning.evaluation.charts import risk_chart
from services.learning.evaluation.figures import Scored, counts, judge, risk
from services.learning.evaluation.page import write_page
from services.learning.evaluation.report import FIGURES, PREDICTIONS
from services.learning.evaluation.statistics import mcnemar, paired_interval

COMPARISON = "comparison.json"


@dataclass(frozen=True, slots=True)
class Run:
    """One side of a comparison. `about` is empty for a bare file of predictions."""

    name: str
    about: dict[str, Any]
    rows: list[Scored]


@dataclass(frozen=True, slots=True)
class Change:
    """A way in which an order may differ between the runs; `good` says whether one is glad of it."""

    name: str
    good: bool | None
    holds: Callable[[Scored, Scored], bool]


CHANGES = (
    Change("right to wrong", False, lambda a, b: a.exact and not b.exact),
    Change("wrong to right", True, lambda a, b: b.exact and not a.exact),
    Change("became a silent error", False, lambda a, b: b.silent and not a.silent),
    Change("no longer a silent error", True, lambda a, b: a.silent and not b.silent),
    Change("accepted to review", None, lambda a, b: b.review and not a.review),
    Change("review to accepted", None, lambda a, b: a.review and not b.review),
)


def load_run(path: Path, gold: Sequence[dict[str, Any]] | None) -> Run:
    """A report folder, or a file of predictions scored against `gold`.

    Raises:
        InputError: nothing of the kind there, a broken row, an id twice, or rows without their gold carts.
    """
    file = path / PREDICTIONS if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{file} doesn't exist", hint="Name a folder that --report wrote, or a file that --out wrote."
        )
    carts = {row["id"]: row for row in gold or ()}
    rows: dict[str, Scored] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            predicted = json.loads(line)
            if "error" in predicted and "cart" not in predicted:
                continue  # a broken row of the gold file, which nothing was predicted for
            scored = _scored(predicted, carts, file.name)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{file.name} line {number}: {error!r}", hint="docs/evaluation.md shows a prediction row."
            ) from None
        if predicted["id"] in rows:
            raise InputError(f"{file.name} has {predicted['id']!r} twice", hint="Ids name one order each.")
        rows[predicted["id"]] = scored
    about = path / FIGURES
    told = json.loads(about.read_text(encoding="utf-8"))["about"] if about.is_file() else {}
    return Run(path.name if path.is_dir() else path.stem, told, list(rows.values()))


def _scored(predicted: dict[str, Any], carts: dict[str, dict[str, Any]], file: str) -> Scored:
    name = predicted["id"]
    known = carts.get(name)
    if known is None and "gold" not in predicted:
        raise InputError(
            f"{file} has no gold cart for {name!r}",
            hint="Name the gold file of both runs with --gold.",
        )
    return judge(known or {"id": name, "cart": predicted["gold"]}, predicted)


def compare(before: Run, after: Run) -> dict[str, Any]:
    """Both runs' figures, the ids of what changed, and paired tests on exact carts and silent errors.

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


def write_comparison(
    folder: Path, before: Run, after: Run, found: dict[str, Any], asr_threshold: float
) -> Path:
    """`comparison.json` and a page with the changed orders; the path of the page."""
    pairs = _pairs(before, after)
    groups = [
        (change, [_shown(a, b) for a, b in pairs if change.holds(a, b)])
        for change in CHANGES
        if found["changes"][change.name]
    ]
    runs = [(run.name, risk(run.rows, asr_threshold)) for run in (before, after)]
    return write_page(
        folder, COMPARISON, found, "compare.html.jinja", found=found, groups=groups, risk_svg=risk_chart(runs)
    )


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
    """Exact McNemar on the rows that changed, and the interval of the difference in share (b less a)."""
    gained = sum(b and not a for a, b in pairs)
    lost = sum(a and not b for a, b in pairs)
    return {
        "only_a": lost,
        "only_b": gained,
        "p": round(mcnemar(lost, gained), 6),
        "difference": round((gained - lost) / len(pairs), 4),
        "difference_ci": paired_interval([a for a, _ in pairs], [b for _, b in pairs]),
    }


def _shown(a: Scored, b: Scored) -> dict[str, Any]:
    gold = a.gold["cart"]["lines"]
    sides = [(row, side_by_side(gold, row.predicted["cart"]["lines"], Names())) for row in (a, b)]
    return {"id": a.gold["id"], "gold": side_by_side(gold, gold, Names()), "sides": sides}
