"""What the sets of the evaluation come to: counts for a file that is published, and a table.

A report folder holds transcripts and gold carts; from here on there are counts and versions only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.learning.evaluation.report import FIGURES, interval, percent
from services.learning.evaluation.statistics import wilson
from tests.bench.evaluation.sets import MENUS, RUNGS, STRANGERS_RUNGS, TEXT
from tests.bench.markdown import markdown

Figures = Mapping[str, Any]

# What is published of a set, and what `figures.json` calls it.
COUNTS = {
    "rows": "rows",
    "exact": "exact_carts",
    "reviews": "reviews",
    "needless": "needless_reviews",
    "silent": "silent_errors",
}
# The same with questions answered by a simulated customer.
ANSWERED = {
    "asked": "asked one question",
    "exact_answered": "exact after the answers",
    "to_a_human": "to a human",
    "wrong_unseen": "wrong, unseen",
}
# What is the same for all sets of one run. Never a path, nor what a gold file holds.
ONCE = ("commit", "date", "saycart", "decoder", "hearing", "asr_threshold")


def read_figures(report: Path) -> dict[str, Any] | None:
    """The figures of a report folder; None where there are none, or half of them."""
    try:
        found: dict[str, Any] = json.loads((report / FIGURES).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found


def gather(out: Path, names: Sequence[str]) -> dict[str, Any]:
    """All that is published of the sets that have a report, in the order of `names`.

    `about` is of the newest; a set that was scored at another commit says so itself.
    """
    reports = {name: figures for name in names if (figures := read_figures(out / name))}
    about: dict[str, Any] = {}
    for figures in sorted(reports.values(), key=lambda figures: figures["about"]["date"]):
        about |= {key: figures["about"][key] for key in ONCE if key in figures["about"]}
    return {"about": about, "sets": [entry(name, figures, about) for name, figures in reports.items()]}


def entry(name: str, figures: Figures, about: Figures) -> dict[str, Any]:
    """The counts of one set."""
    own, answered = figures["about"], figures["after_answers"]
    return {
        "set": name,
        "condition": own["condition"],
        "menu": own["menu"],
        "gold": own["gold"],
        **{ours: figures[theirs] for ours, theirs in COUNTS.items()},
        **{ours: answered[theirs] for ours, theirs in ANSWERED.items()},
        "wer": figures["wer"],
        **({"commit": own["commit"]} if own["commit"] != about["commit"] else {}),
    }


def joined(entries: Sequence[Figures]) -> list[dict[str, Any]]:
    """Both sample menus together, text and rung by rung, where both were scored; and the menus by strangers.

    Without a word error rate: how many words were said is not among a report's figures.
    """
    by_name = {one["set"]: one for one in entries}
    found = []
    for stem in (TEXT, *(rung.name for rung in RUNGS)):
        parts = [by_name[name] for menu in MENUS if (name := f"{stem}-{menu}") in by_name]
        if len(parts) == len(MENUS):
            found.append(summed(f"{stem}, both menus", parts))
    for rung in STRANGERS_RUNGS:
        parts = [one for name, one in by_name.items() if name.startswith(f"strangers-{rung.name}-")]
        found += [summed(f"{rung.name}, {len(parts)} menus by strangers", parts)] if parts else []
    return found


def summed(name: str, parts: Sequence[Figures]) -> dict[str, Any]:
    """The counts of these sets, as one set's."""
    return {
        "set": name,
        **{count: sum(part[count] for part in parts) for count in (*COUNTS, *ANSWERED)},
        "wer": None,
    }


def table(entries: Sequence[Figures]) -> str:
    """One row a set, as Markdown; shares are of all its rows, with their 95% intervals."""
    head = ["set", "orders", "exact (95%)", "to review (95%)", "of them needless", "silent errors (95%)"]
    head += ["asked", "exact after the answers (95%)", "to a human (95%)", "wrong, unseen", "WER"]
    rows = [
        [
            one["set"],
            str(one["rows"]),
            *(_share(one[count], one["rows"]) for count in ("exact", "reviews")),
            str(one["needless"]),
            _share(one["silent"], one["rows"]),
            str(one["asked"]),
            *(_share(one[count], one["rows"]) for count in ("exact_answered", "to_a_human")),
            str(one["wrong_unseen"]),
            percent(one["wer"]),
        ]
        for one in entries
    ]
    return markdown([head, *rows])


def _share(hits: int, rows: int) -> str:
    return f"{hits}, {percent(hits / max(rows, 1))} ({interval(wilson(hits, rows))})"
