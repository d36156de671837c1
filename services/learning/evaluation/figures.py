"""Summarize scored rows as plain values: the content of `figures.json`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.compare import canonical
from schemas.lifecycle import StageName
from schemas.review import ReviewReason
from services.learning.evaluation.answering import COUNTED, outcomes
from services.learning.evaluation.word_errors import word_errors

Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Scored:
    """One gold row and its prediction.

    The cart is `exact` when both drafts have equal lines, in any order: equal lines merged, options as sets,
    before any default is filled in."""

    gold: dict[str, Any]
    predicted: dict[str, Any]
    exact: bool

    @property
    def review(self) -> bool:
        return bool(self.predicted["decision"] == "review")

    @property
    def silent(self) -> bool:
        """An undetected error: a wrong cart that was accepted."""
        return not self.exact and not self.review

    @property
    def spoken(self) -> bool:
        """True if the transcript came from a recording."""
        return bool(self.predicted["ms"].get(StageName.TRANSCRIBE))

    @property
    def causes(self) -> set[str]:
        """The codes that sent it to review: its blocking findings and the reasons."""
        codes = {one["code"] for one in self.predicted["findings"] if one["severity"] == "blocking"}
        return codes | {*self.predicted.get("reasons", ())} - {ReviewReason.BLOCKING_FINDING.value}


def judge(gold: dict[str, Any], predicted: dict[str, Any]) -> Scored:
    """Score one prediction row against its gold row."""
    exact = canonical(gold["cart"]["lines"]) == canonical(predicted["cart"]["lines"])
    return Scored(gold, predicted, exact)


def errors(rows: Iterable[Scored], broken: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the id and error of each `broken` gold row, then of each failed prediction."""
    failed = [row.predicted for row in rows if "error" in row.predicted]
    return [{"id": row["id"], "error": row["error"]} for row in (*broken, *failed)]


def figures(rows: Sequence[Scored], broken: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return every figure of a run: counts, shares of all rows with their 95% intervals, times in ms.
    `broken` gold rows, without a cart, count only as errors."""
    return {
        "rows": len(rows),
        **_counted("exact", "exact_carts", [row.exact for row in rows]),
        **_counted("review", "reviews", [row.review for row in rows]),
        **_counted("silent", "silent_errors", [row.silent for row in rows]),
        "needless_reviews": sum(row.exact and row.review for row in rows),
        "after_answers": _after_answers(rows),
        "wer": _wer(rows),
        "errors": len(errors(rows, broken)),
        "broken_rows": len(broken),
        "reviews_by_cause": _causes(rows),
        "ms": _times(rows),
    }


def _counted(kind: str, count: str, hits: Sequence[bool]) -> dict[str, Any]:
    total = sum(hits)
    return {
        count: total,
        f"{kind}_share": round(total / max(len(hits), 1), 4),
        f"{kind}_ci": tuple(round(end, 4) for end in wilson(total, len(hits))),
    }


def _after_answers(rows: Iterable[Scored]) -> dict[str, int]:
    """Count outcomes after a simulated customer's answers; see `answering.py`."""
    counts = Counter(
        label for row in rows for label in outcomes(row.predicted, canonical(row.gold["cart"]["lines"]))
    )
    return {label: counts[label] for label in COUNTED}


def _wer(rows: Iterable[Scored]) -> float | None:
    """Return the word error rate of spoken rows with known utterances; None if there are none."""
    pairs = [
        word_errors(row.gold["utterance"], row.predicted["transcript"])
        for row in rows
        if row.spoken and row.gold.get("utterance")
    ]
    words = sum(count for _, count in pairs)
    return round(sum(errors for errors, _ in pairs) / words, 4) if words else None


def _causes(rows: Iterable[Scored]) -> dict[str, dict[str, int]]:
    """Count reviews by cause, and how many of them were unnecessary (the cart was right)."""
    reviewed = [row for row in rows if row.review]
    counts = Counter(cause for row in reviewed for cause in sorted(row.causes))
    needless = Counter(cause for row in reviewed if row.exact for cause in row.causes)
    return {cause: {"reviews": n, "needless": needless[cause]} for cause, n in counts.most_common()}


def _times(rows: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Return the times by stage, over the rows that reached it (0 in a row if not reached)."""
    stages = list(dict.fromkeys(stage for row in rows for stage in row.predicted["ms"]))
    times = {stage: [ms for row in rows if (ms := row.predicted["ms"].get(stage))] for stage in stages}
    times["total"] = [round(sum(row.predicted["ms"].values()), 1) for row in rows]
    return {
        stage: {"rows": len(values), "p50": quantile(values, 0.5), "p95": quantile(values, 0.95)}
        for stage, values in times.items()
        if values
    }


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """Return the 95% Wilson interval of a share: valid for few rows and near 0 and 1. No rows: 0 to 1."""
    if rows == 0:
        return 0.0, 1.0
    share, z2 = hits / rows, Z95**2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = Z95 / (1 + z2 / rows) * math.sqrt(share * (1 - share) / rows + z2 / (4 * rows**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all values do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
