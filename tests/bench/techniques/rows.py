"""Results on disk, and the figures of one technique at one temperature."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.evaluation.statistics import mcnemar, paired_interval, quantile, wilson

Row = dict[str, Any]


def rows_of(folder: Path, name: str, temperature: float) -> list[Row]:
    """The rows of a technique; none if it was not run."""
    file = folder / f"{name}-{temperature}.jsonl"
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Counts with Wilson intervals, means a order, latency. `rows` must not be empty."""
    count = len(rows)
    failed = [row for row in rows if row["failure"]]
    carts = [row for row in rows if not row["failure"]]
    wrong_catalog = sum(bool(row["catalog"]) for row in carts)
    exact = sum(row["exact"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    return {
        "orders": count,
        "parse_failures": len(failed),
        "parse_failures_ci": wilson(len(failed), count),
        "failures_by_kind": dict(Counter(row["failure"] for row in failed)),
        "first_answer_failures": sum(bool(row["first_failure"]) for row in rows),
        "exact": exact,
        "exact_ci": wilson(exact, count),
        "exact_tidied": sum(row["exact_tidied"] for row in rows),
        "gold_lines": sum(row["gold_lines"] for row in rows),
        "right_lines": sum(row["right_lines"] for row in rows),
        "with_catalog_errors": wrong_catalog,
        "with_catalog_errors_ci": wilson(wrong_catalog, count),
        "catalog_errors_by_kind": dict(Counter(kind for row in carts for kind in row["catalog"])),
        "with_words_not_said": sum(bool(row["words_not_said"]) for row in carts),
        "calls": round(sum(row["calls"] for row in rows) / count, 3),
        "prompt_tokens": round(sum(row["prompt_tokens"] for row in rows) / count, 1),
        "cached_tokens": round(sum(row["cached_tokens"] for row in rows) / count, 1),
        "completion_tokens": round(sum(row["completion_tokens"] for row in rows) / count, 1),
        "seconds_p50": quantile(seconds, 0.5),
        "seconds_p95": quantile(seconds, 0.95),
        "load_p50": quantile([row["load"] for row in rows], 0.5),
    }


def paired(before: Sequence[Row], after: Sequence[Row]) -> dict[str, Any]:
    """Two runs on the orders that both have: exact carts with exact McNemar, and lines that are gold's."""
    other = {row["id"]: row for row in after}
    both = [(row, other[row["id"]]) for row in before if row["id"] in other]
    pairs = [(a["exact"], b["exact"]) for a, b in both]
    lost = sum(a and not b for a, b in pairs)
    gained = sum(b and not a for a, b in pairs)
    return {
        "orders": len(pairs),
        "exact_before": sum(a for a, _ in pairs),
        "exact_after": sum(b for _, b in pairs),
        "only_before": lost,
        "only_after": gained,
        "p": round(mcnemar(lost, gained), 4),
        "gold_lines": sum(a["gold_lines"] for a, _ in both),
        "right_lines_before": sum(a["right_lines"] for a, _ in both),
        "right_lines_after": sum(b["right_lines"] for _, b in both),
        "difference_ci": paired_interval([a for a, _ in pairs], [b for _, b in pairs]),
    }
