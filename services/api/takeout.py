"""What the shop holds of one customer, to be handed to them: `orders.jsonl` and `recordings/`.

Each line is an order as the API shows it, its review with it; a recording is named after its order.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from io import RawIOBase
from pathlib import Path
from typing import Any

from schemas.errors import NotFound, RecordingLost
from services.api import present
from services.recordings import stream_recording
from services.shop_scope import ShopScope


def pieces(box: ShopScope, order_ids: Iterable[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Names of files with what is in them, to be read one after the other. What is erased meanwhile is left
    out."""
    sounds: list[tuple[str, str]] = []
    yield "orders.jsonl", _lines(box, order_ids, sounds)
    for name, key in sounds:
        with suppress(RecordingLost), closing(box.recording(key)) as sound:
            yield f"recordings/{name}", stream_recording(sound)


def _lines(box: ShopScope, order_ids: Iterable[str], sounds: list[tuple[str, str]]) -> Iterator[bytes]:
    for order_id in order_ids:
        try:
            order = box.orders.get(order_id)
        except NotFound:
            continue
        if order.audio_key is not None:
            sounds.append((f"{order.id}.{order.audio_format}", order.audio_key))
        shown = present.order(order, box.reviews.by_order(order_id))
        yield shown.model_dump_json(by_alias=True).encode() + b"\n"


def write(box: ShopScope, order_ids: Iterable[str], folder: Path) -> list[Path]:
    """Into a folder; the files that were written."""
    written = []
    for name, chunks in pieces(box, order_ids):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            out.writelines(chunks)
        written.append(file)
    return written


def zipped(box: ShopScope, order_ids: Iterable[str]) -> Iterator[bytes]:
    """The same as one ZIP, which is made while it is sent: no copy of it is ever on the disk."""
    out = _Passing()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, chunks in pieces(box, order_ids):
            with archive.open(name, "w", force_zip64=True) as member:
                for chunk in chunks:
                    member.write(chunk)
                    yield out.taken()
    yield out.taken()


class _Passing(RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        return len(data)

    def taken(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held
