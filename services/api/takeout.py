"""Export of a customer's data: `orders.jsonl`, an order with its review a line, and `recordings/`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from schemas.errors import NotFound, RecordingLost
from services.api import present
from services.recordings import local_recording
from services.shop_scope import ShopScope


def write(box: ShopScope, order_ids: Iterable[str], folder: Path) -> int:
    """Write orders and recordings to a folder, except those that are erased meanwhile; return the number of
    recordings."""
    recordings = folder / "recordings"
    recordings.mkdir(parents=True, exist_ok=True)
    copied = 0
    with (folder / "orders.jsonl").open("wb") as lines:
        for order_id in order_ids:
            try:
                order = box.orders.get(order_id)
            except NotFound:
                continue
            public = present.order(order, box.reviews.by_order(order_id))
            lines.write(public.model_dump_json(by_alias=True).encode() + b"\n")
            for number, utterance in enumerate(order.all_utterances):
                if utterance.audio_key is not None:
                    suffix = f"-{number}" if number else ""
                    with suppress(RecordingLost), local_recording(box.blobs, utterance.audio_key) as audio:
                        shutil.copyfile(audio, recordings / f"{order.id}{suffix}.{utterance.audio_format}")
                        copied += 1
    return copied
