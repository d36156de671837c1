"""Build the tables of `services/transcription/confidence.json` from raw confidences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from infra.weights.lock import lock
from services.transcription.confidence import TABLES

BIN = 20  # recordings per bin before the table is made monotone


def table(key: str, about: str, raw: list[float], right: list[bool], silent: int) -> dict[str, Any]:
    """Print and return the table of a key; `silent` recordings had no words."""
    ranks = auroc(raw, right)
    rows = isotonic(np.array(raw), np.array(right))
    print(f"{key}: {sum(right)} of {len(raw)} right, AUROC {ranks}, {silent} without words")
    print(*rows, sep="\n")
    return {
        "data": about,
        "heard": len(raw),
        "heard_right": sum(right),
        "without_words": silent,
        "auroc": round(ranks or 0.0, 3),
        "rows": rows,
    }


def auroc(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """Area under the ROC curve; None if all are right or all are wrong."""
    good = [c for c, ok in zip(confidences, right, strict=True) if ok]
    bad = [c for c, ok in zip(confidences, right, strict=True) if not ok]
    if not good or not bad:
        return None
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return round(wins / (len(good) * len(bad)), 4)


def isotonic(raw: np.ndarray, right: np.ndarray) -> list[list[float]]:
    """Rows [raw_low, raw_mean, count, right, confidence], made monotone by pooling adjacent violators.

    A bin's confidence is (right + 1) / (count + 2), so no row is certain.
    """
    order = np.argsort(raw, kind="stable")
    pools: list[list[float]] = []  # count, right, sum of raw, sum of shares weighted by count, lowest raw
    for part in np.array_split(order, max(1, len(raw) // BIN)):
        n, good = len(part), int(right[part].sum())
        share = (good + 1) / (n + 2) * n
        pools.append([n, good, float(raw[part].sum()), share, float(raw[part].min())])
        while len(pools) > 1 and pools[-2][3] / pools[-2][0] >= pools[-1][3] / pools[-1][0]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1][:4], last[:4], strict=True)] + [pools[-1][4]]
    return [[round(low, 4), round(s / n, 4), n, good, round(c / n, 4)] for n, good, s, c, low in pools]


def cautious(tables: dict[str, Any]) -> list[list[float]]:
    """Rows [raw, confidence] for models without a table: the lowest of all tables, minus 0.1."""
    rows = []
    for raw in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        lowest = min(
            float(np.interp(raw, [0, *(r[1] for r in t["rows"])], [0, *(r[4] for r in t["rows"])]))
            for t in tables.values()
        )
        rows.append([raw, round(max(0.0, lowest - 0.1), 4)])
    return rows


def as_they_come(tables: dict[str, Any]) -> dict[str, Any]:
    """Tables of first, full passes without an adapter, like those of models without a table."""
    plain = lock().names
    return {key: table for key, table in tables.items() if key.partition("/")[0] in plain and "+" not in key}


def write(document: dict[str, Any]) -> None:
    """Write confidence.json with one row per line, for readability."""
    text = re.sub(
        r"\[\s+([^\[\]]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", json.dumps(document, indent=1)
    )
    TABLES.write_text(text + "\n")
