"""What staff corrected, as rows to evaluate on.

Corrections are the orders that went wrong, not a sample of all orders: a score on them alone says how well
the hard ones go, and nothing about the rest. `utterance` is the recognizer's transcript, which staff
don't correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.records.reviews import Settled


def gold_rows(settled: Iterable[Settled]) -> Iterator[dict[str, Any]]:
    """A gold row of the contract for each corrected order, with its menu and version.

    `audio` is the recording's path below the folder of recordings, which is what `--audio-dir` names.
    """
    for one in settled:
        order = one.order
        text = order.transcript.text if order.transcript else ""
        # One recording of several is not what the cart is of.
        key = None if order.utterances else order.audio_key
        if one.review.decision != "correct" or order.draft is None or not (text.strip() or key):
            continue
        lines = [line.model_dump(mode="json", exclude={"kind", "heard"}) for line in order.draft.lines]
        sound = {"audio": f"{key[:2]}/{key}"} if key else {}
        yield {
            "id": order.id,
            "menu": order.menu_id,
            "menu_version": order.menu_version,
            "utterance": text,
            **sound,
            "cart": {"lines": lines},
        }
