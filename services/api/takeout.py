"""What the shop holds of one customer, to be handed to them: `orders.jsonl` and `recordings/`.

Each line is an order as the API shows it, its review with it; a recording is named after its order.
"""

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
    """Write orders and recordings into a folder, without what is erased meanwhile; return how many
    recordings there are."""
    recordings = folder / "recordings"
    recordings.mkdir(parents=True, exist_ok=True)
    copied = 0
    with (folder / "orders.jsonl").open("wb") as lines:
        for order_id in order_ids:
            try:
                order = box.orders.get(order_id)
            except NotFound:
                continue
            shown = present.order(order, box.reviews.by_order(order_id))
            lines.write(shown.model_dump_json(by_alias=True).encode() + b"\n")
            for number, one in enumerate(order.all_utterances):
                if one.audio_key is not None:
                    place = f"-{number}" if number else ""
                    with suppress(RecordingLost), local_recording(box.blobs, one.audio_key) as sound:
                        shutil.copyfile(sound, recordings / f"{order.id}{place}.{one.audio_format}")
                        copied += 1
    return copied
