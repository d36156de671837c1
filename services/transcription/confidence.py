"""The ASR confidence: how likely a recording with this mean word probability was heard right.

Whisper's own numbers are no chances: of human orders with a mean word probability of 0.72, less than a half
was heard right. So `confidence.json` holds, for each model, precision, set of options and language, a table
measured by `tests/bench/hearing/calibrate_asr.py` (it says what "right" means) on 139 orders by real people,
clean and in noise, and made monotone (isotonic regression). A row is

    [raw_low, raw_mean, count, right, confidence]

where `count` recordings had a mean word probability of `raw_low` or more (up to the next row's), `raw_mean`
on average, and in `right` of them every item, size and option of the order was found, and no other.
Between the means it is linear; below the first it runs to 0 at a mean of 0, above the last it stays. With
base on CPU, 0.72 lies at a mean of 0.81.

A share over that mix of noise levels is no promise about another room: it orders recordings (AUROC 0.84;
`exp(avg_logprob)` orders them worse), and its level is right as far as the room is like the mix. What has
no table gets `fallback`, the lowest of all tables less a tenth, so that it asks more often.

A key that ends in `+fitted` is of hearings in a window of the recording's own length (`encoded.py`); where it
has none there are no such hearings. One that ends in `+denoised` is of those that replaced a whole one
(`tests/bench/hearing/calibrate_denoised.py`, ADR 28).

`agreements` holds, for a pair of recognisers, how many orders were right of those in which both agree
(`services/transcription/second.py`), by how sure the first was: a row is

    [from, to, heard, right, confidence]

of its hearings with a confidence of `from` or more, under `to`; the last row is used above it too, where it
is too low. Measured where agreement is needed: under the floor of 0.72, and from there to 0.9. Its
`confidence` is (right + 1) / (heard + 2).
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
    """`{key: ((raw, confidence), ...)}`, both rising, with the end points that every table shares."""
    document = _document()
    tables = {}
    for key, table in document["tables"].items():
        rows = [(float(row[1]), float(row[4])) for row in table["rows"]]
        tables[key] = ((0.0, 0.0), *rows, (1.0, rows[-1][1]))
    fallback = [(float(raw), float(confidence)) for raw, confidence in document[FALLBACK]["rows"]]
    tables[FALLBACK] = ((0.0, 0.0), *fallback, (1.0, fallback[-1][1]))
    return tables


def agreement(first: str, second: str, confidence: float) -> float | None:
    """The share (0..1) of right orders where recogniser `first` heard with a `confidence` like this and
    `second` agrees, by their keys; None where it was not measured."""
    measured = _document()["agreements"].get(first, {}).get(second)
    if measured is None:
        return None
    below = [row for row in measured["rows"] if row[0] <= confidence]
    return float(below[-1][-1])


def is_measured(key: str) -> bool:
    """Whether `key` (model, precision, options, language) has a table of its own."""
    return key != FALLBACK and key in _tables()


def calibrated(raw: float, key: str) -> float:
    """The share (0..1) of recordings with mean word probability `raw` (0..1) that were heard right."""
    tables = _tables()
    knots = tables.get(key, tables[FALLBACK])
    raw = min(max(raw, 0.0), 1.0)
    for (left, low), (right, high) in pairwise(knots):
        if raw <= right:
            return low if right == left else low + (high - low) * (raw - left) / (right - left)
    return knots[-1][1]
