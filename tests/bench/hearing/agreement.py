"""How often an order is right that two recognisers come to by themselves (`services/hearing`).

Run by `calibrate_asr.py --second NAME` over hearings of the same recordings and noise by both.
Only those count whose words, as the first recogniser heard them, leave one cart; right is a cart that equals
gold. The figures for `confidence.json` are taken where they are needed, under the floor and from there to
`SURE`: above that nearly all are right anyway, and would make agreement look better than it is.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.settings import settings
from schemas.compare import canonical, canonical_draft
from schemas.transcript import Transcript
from services.checks.one_cart import undoubted_cart
from services.hearing.second_recogniser import SURE, same_order
from services.reading.order import read_order
from tests.bench.fields.labels import Hearing, calibration_hearings


def measure(first: Path, second: Path, data: Path, keys: tuple[str, str]) -> dict[str, Any]:
    """Prints right and wrong carts by the first recogniser's confidence; the entry of `agreements`.

    `first` and `second` are hearings that `calibrate_asr.py` kept, by the recognisers of these `keys`.
    """
    others = {(other.id, other.rung): other for other in calibration_hearings(second, data, keys[1])}
    floor = settings().asr_threshold
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for one in calibration_hearings(first, data, keys[0]):
        other = others.get((one.id, one.rung))
        verdict = compare(one, other.transcript) if other is not None else None
        if verdict is None:
            continue
        sure = one.transcript.confidence
        band = "under the floor" if sure < floor else "sure" if sure >= SURE else "between"
        counts[band, *verdict] += 1
    for band in ("under the floor", "between", "sure"):
        for agreed in (True, False):
            right, wrong = counts[band, agreed, True], counts[band, agreed, False]
            print(f"{band}, {'agreed' if agreed else 'not agreed'}: {right} right, {wrong} wrong")
    rows = []
    for band, low, high in (("under the floor", 0.0, floor), ("between", floor, SURE)):
        right, wrong = (counts[band, True, good] for good in (True, False))
        rows.append([low, high, right + wrong, right, round((right + 1) / (right + wrong + 2), 4)])
    return {"date": datetime.now(UTC).date().isoformat(), "rows": rows}


def compare(one: Hearing, other: Transcript) -> tuple[bool, bool] | None:
    """Whether `other` agrees with a hearing, and whether the hearing's cart is right; None without a cart."""
    heard = read_order(one.transcript.text, one.menu, 1)
    cart = undoubted_cart(heard)
    if cart is None:
        return None
    same = same_order(heard, read_order(other.text, one.menu, 1))
    return same, canonical_draft(cart) == canonical(one.gold)
