"""The calibrated ASR confidence: how likely a transcript with this mean word probability is right.

Whisper's own numbers aren't probabilities: of human orders with a mean word probability of 0.72, less than
half were right. So `confidence.json` holds, for each model, precision, set of options and language, a table
measured by `tests/bench/calibration/calibrate_asr.py` (it says what "right" means) on 139 orders by real
people, clean and in noise, and made monotone (isotonic regression). A row is

    [raw_low, raw_mean, count, right, confidence]

where `count` recordings had a mean word probability of at least `raw_low` (below the next row's), `raw_mean`
on average, and `right` of them yielded exactly the order's items, sizes and options. Interpolation is linear,
from 0 at a mean of 0, and constant above the last row. With base on CPU, 0.72 lies at a mean of 0.81.

The tables are of one mix of noise levels, so they rank recordings (AUROC 0.84; `exp(avg_logprob)` is worse),
but their level holds only for similar rooms. A key without a table gets `fallback`, the lowest of all tables
minus a tenth, so that it asks more often.

A key ending in `+fitted` is for passes with a window of the recording's length (`encoded.py`); without such a
table there are no such passes. One ending in `+denoised` is for denoised passes that replaced a whole one
(`tests/bench/calibration/calibrate_denoised.py`, ADR 28).

`agreements` holds, for a pair of recognizers, how many orders were right of those in which both agree
(`services/transcription/second.py`), by the first one's confidence: a row is

    [from, to, count, right, confidence]

for confidences from `from` to below `to`; the last row is used above `to`, too, where it is conservative.
Measured where agreement is needed: below the floor of 0.72, and from there to 0.9. `confidence` is
(right + 1) / (count + 2).
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

TABLES = Path(__file__).with_name("confidence.json")
FALLBACK = "fallback"

Knots = tuple[tuple[float, float], ...]


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(TABLES.read_text(encoding="utf-8"))
    return document


@lru_cache(maxsize=1)
def _tables() -> dict[str, Knots]:
    """Return `{key: ((raw, confidence), ...)}`, both rising, with the end points that all tables share."""
    document = _document()
    tables = {}
    for key, table in document["tables"].items():
        rows = [(float(row[1]), float(row[4])) for row in table["rows"]]
        tables[key] = ((0.0, 0.0), *rows, (1.0, rows[-1][1]))
    fallback = [(float(raw), float(confidence)) for raw, confidence in document[FALLBACK]["rows"]]
    tables[FALLBACK] = ((0.0, 0.0), *fallback, (1.0, fallback[-1][1]))
    return tables


def agreement(first: str, second: str, confidence: float) -> float | None:
    """Return the share (0..1) of right orders where recognizer `first` has this `confidence` and `second`
    agrees, by their keys; None if it was not measured."""
    measured = _document()["agreements"].get(first, {}).get(second)
    if measured is None:
        return None
    below = [row for row in measured["rows"] if row[0] <= confidence]
    return float(below[-1][-1])


def is_measured(key: str) -> bool:
    """Return True if `key` (model, precision, options, language) has its own table."""
    return key != FALLBACK and key in _tables()


def calibrated(raw: float, key: str) -> float:
    """Return the share (0..1) of right transcripts with the mean word probability `raw` (0..1)."""
    tables = _tables()
    knots = tables.get(key, tables[FALLBACK])
    for (left, low), (right, high) in pairwise(knots):
        if raw <= right:
            return low if right == left else low + (high - low) * (raw - left) / (right - left)
    return knots[-1][1]
