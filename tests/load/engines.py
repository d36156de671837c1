"""The Celery worker with simulated engines: `celery -A tests.load.engines ...`.

Everything else is real: queue, database, recordings, confined audio decoding, retrieval and checks. The
engines sleep, like a worker that waits for a server, and answer from the gold files. Their times are
log-normal around the medians `LOAD_HEAR_S` and `LOAD_READ_S`, with the 95th percentile at twice the median.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import threading
import time
from functools import cache
from typing import Any

from schemas.menu import Menu
from schemas.transcript import Transcript
from schemas.writable import clean
from services.bootstrap import Container
from services.decoding.ports import CartRequest, DecodedCart
from services.transcription.ports import Recording
from services.workers.app import app
from tests.load.orders import RECORDINGS, rows
from tests.stand_ins import ScriptedTranscriber, speech

__all__ = ["app"]

HEAR_S = float(os.environ.get("LOAD_HEAR_S", "1.0"))
READ_S = float(os.environ.get("LOAD_READ_S", "2.0"))
# One order in twenty takes at least twice the median.
_SIGMA = math.log(2) / 1.645


def take(median_s: float) -> float:
    """Sleep as long as an engine might take; return the seconds."""
    seconds = median_s * math.exp(random.gauss(0, _SIGMA))
    time.sleep(seconds)
    return seconds


@cache
def _gold() -> dict[str, list[dict[str, Any]]]:
    return {clean(row["utterance"]): row["cart"]["lines"] for row in rows()}


@cache
def _said() -> dict[str, str]:
    """Return the text of each recording by the digest of its bytes."""
    listed = json.loads((RECORDINGS / "manifest.json").read_text())["recordings"]
    return {one["sha256"]: one["text"] for one in listed}


class Ears(ScriptedTranscriber):
    """Decodes the recording as usual, then answers its known text."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        said = _said()[hashlib.sha256(recording.file.read_bytes()).hexdigest()]
        if not len(recording.samples):
            raise ValueError("nothing was decoded")
        take(HEAR_S)
        return speech(said)


class Reader:
    """`CartDecoder`: comes to the gold cart."""

    def decode(self, asked: CartRequest, *_args: object, **_how: object) -> DecodedCart:
        take(READ_S)
        lines = tuple({"kind": "item", **line} for line in _gold().get(asked.transcript, ()))
        return DecodedCart(lines, "", 0.0, 0)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None: ...

    def verify(self) -> None: ...


Container.transcriber = property(lambda _: Ears([]))  # type: ignore[assignment, misc]
Container.second_transcriber = property(lambda _: None)  # type: ignore[assignment, misc]
Container.decoder = property(lambda _: Reader())  # type: ignore[assignment, misc]
