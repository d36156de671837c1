"""The figures of scored rows, as plain values: the content of `figures.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.compare import canonical
from schemas.lifecycle import StageName
from schemas.review import ReviewReason
from services.learning.evaluation.answering import COUNTED, outcomes
from services.learning.evaluation.score import LineScore, score
from services.learning.evaluation.statistics import quantile, wilson
from services.learning.evaluation.word_errors import word_errors


@dataclass(frozen=True, slots=True)
class Scored:
    """One gold row, its prediction, and their comparison."""

    gold: dict[str, Any]
    predicted: dict[str, Any]
    score: LineScore

    @property
    def exact(self) -> bool:
        return self.score.exact

    @property
    def review(self) -> bool:
        return bool(self.predicted["decision"] == "review")

    @property
    def silent(self) -> bool:
        """An undetected error: a wrong cart that was accepted."""
        return not self.exact and not self.review

    @property
    def spoken(self) -> bool:
        """True if it was transcribed from a recording."""
        return bool(self.predicted["ms"].get(StageName.TRANSCRIBE))

    @property
    def confidence(self) -> float:
        return float(self.predicted["confidence"])

    @property
    def causes(self) -> set[str]:
        """Why it went to a review: codes of its blocking findings and the reasons."""
        codes = {f["code"] for f in self.predicted["findings"] if f["severity"] == "blocking"}
        return codes | {*self.predicted.get("reasons", ())} - {ReviewReason.BLOCKING_FINDING.value}


def judge(gold: dict[str, Any], predicted: dict[str, Any]) -> Scored:
    """Score one prediction row against its gold row."""
    return Scored(gold, predicted, score(gold["cart"]["lines"], predicted["cart"]["lines"]))


def errors(rows: Iterable[Scored], broken: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return id and error of each `broken` gold row, then of each failed prediction."""
    failed = [row.predicted for row in rows if "error" in row.predicted]
    return [{"id": row["id"], "error": row["error"]} for row in (*broken, *failed)]


def figures(rows: Sequence[Scored], broken: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return every figure of a run: shares of all rows with their 95% intervals, times in ms. `broken` gold
    rows, without a cart, count only as errors."""
    wrong: Counter[str] = Counter()
    for row in rows:
        wrong.update(row.score.wrong)
    exact, reviews = sum(row.exact for row in rows), sum(row.review for row in rows)
    silent = sum(row.silent for row in rows)
    return {
        "rows": len(rows),
        "exact_carts": exact,
        "exact_share": _share(exact, len(rows)),
        "exact_ci": wilson(exact, len(rows)),
        "reviews": reviews,
        "review_share": _share(reviews, len(rows)),
        "review_ci": wilson(reviews, len(rows)),
        "silent_errors": silent,
        "silent_share": _share(silent, len(rows)),
        "silent_ci": wilson(silent, len(rows)),
        "needless_reviews": sum(row.exact and row.review for row in rows),
        "after_answers": _after_answers(rows),
        "wer": _wer(rows),
        "errors": len(errors(rows, broken)),
        "broken_rows": len(broken),
        "wrong_fields": dict(wrong.most_common()),
        "reviews_by_cause": _reviews(rows),
        "ms": _times(rows),
    }


def _after_answers(rows: Iterable[Scored]) -> dict[str, int]:
    """Count the orders' outcomes after answered questions; see `answering.py`."""
    counts = Counter(
        what for row in rows for what in outcomes(row.predicted, canonical(row.gold["cart"]["lines"]))
    )
    return {what: counts[what] for what in COUNTED}


def _share(part: int, whole: int) -> float:
    return round(part / max(whole, 1), 4)


def _wer(rows: Iterable[Scored]) -> float | None:
    """Return the word error rate of spoken rows with known utterances, None without any."""
    pairs = [
        word_errors(row.gold["utterance"], row.predicted["transcript"])
        for row in rows
        if row.spoken and row.gold.get("utterance")
    ]
    words = sum(count for _, count in pairs)
    return round(sum(errors for errors, _ in pairs) / words, 4) if words else None


def _reviews(rows: Iterable[Scored]) -> dict[str, dict[str, int]]:
    """Count by cause the orders in review, and those of them with a right cart (unnecessary reviews).

    `alone` counts the unnecessary ones without another cause, which would be saved without it.
    """
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        causes = row.causes if row.review else set()
        for cause in sorted(causes):
            tally = found.setdefault(cause, {"reviews": 0, "needless": 0, "alone": 0})
            tally["reviews"] += 1
            tally["needless"] += row.exact
            tally["alone"] += row.exact and len(causes) == 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]["reviews"]))


def _times(rows: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Return the times by stage, over the rows that reached it (0 in a row if not reached)."""
    stages = list(dict.fromkeys(stage for row in rows for stage in row.predicted["ms"]))
    taken = {stage: [ms for row in rows if (ms := row.predicted["ms"].get(stage))] for stage in stages}
    taken["total"] = [round(sum(row.predicted["ms"].values()), 1) for row in rows]
    return {
        stage: {"rows": len(values), "p50": quantile(values, 0.5), "p95": quantile(values, 0.95)}
        for stage, values in taken.items()
        if values
    }
