"""Orders that staff corrected, as gold rows for evaluation.

They are orders that went wrong, not a sample of all: a score on them measures the hard cases only. Their
`utterance` is the recognizer's transcript, which staff don't correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.records.reviews import Settled


def gold_rows(settled: Iterable[Settled]) -> Iterator[dict[str, Any]]:
    """Yield a gold row of the contract for each corrected order, with its menu and version.

    `audio` is relative to the folder of recordings, which is passed as `--audio-dir`.
    """
    for record in settled:
        order = record.order
        text = order.transcript.text if order.transcript else ""
        # The cart of several utterances doesn't match any single recording.
        key = None if order.utterances else order.audio_key
        if record.review.decision != "correct" or order.draft is None or not (text.strip() or key):
            continue
        lines = [line.model_dump(mode="json", exclude={"kind", "heard"}) for line in order.draft.lines]
        audio = {"audio": f"{key[:2]}/{key}"} if key else {}
        yield {
            "id": order.id,
            "menu": order.menu_id,
            "menu_version": order.menu_version,
            "utterance": text,
            **audio,
            "cart": {"lines": lines},
        }
