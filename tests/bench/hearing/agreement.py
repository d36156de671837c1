"""How often an order was heard right in which two recognizers agree (`services/transcription/second.py`).

Run by `calibrate_asr.py --second NAME` over transcripts of the same recordings and noise by both. They agree
where both name the same things. Right is as there: every item, size and option of the cart, and no other. The
figures for `confidence.json` are taken where they are needed, under the floor and from there to `SURE`: above
that nearly all are right anyway, and would make agreement look better than it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from infra.settings import settings
from services.retrieval.names import MenuNames
from services.transcription.second import SURE, same_things


class Pair(NamedTuple):
    """What two recognizers heard in one recording, the confidence of the first, and whether it was right."""

    first: str
    second: str
    confidence: float
    right: bool


def measure(pairs: Iterable[Pair], names: MenuNames) -> dict[str, Any]:
    """Print right and wrong transcripts by the first recognizer's confidence; return the entry of
    `agreements`."""
    floor = settings().asr_threshold
    bands = {"under the floor": (0.0, floor), "between": (floor, SURE), "sure": (SURE, 1.01)}
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for pair in pairs:
        band = next(name for name, (low, high) in bands.items() if low <= pair.confidence < high)
        counts[band, same_things(pair.first, pair.second, names), pair.right] += 1
    for band in bands:
        for agreed in (True, False):
            right, wrong = counts[band, agreed, True], counts[band, agreed, False]
            print(f"{band}, {'agreed' if agreed else 'not agreed'}: {right} right, {wrong} wrong")
    rows = []
    for band in ("under the floor", "between"):
        right, wrong = (counts[band, True, good] for good in (True, False))
        rows.append([*bands[band], right + wrong, right, round((right + 1) / (right + wrong + 2), 4)])
    return {"date": datetime.now(UTC).date().isoformat(), "rows": rows}
