"""The dependencies of the stages, injected by `services/bootstrap.py`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from schemas.decision import Policy
from schemas.lifecycle import State
from schemas.menu import MenuVersion
from schemas.records.orders import OrderRecord
from schemas.shops.settings import Acceptance
from services.decoding.ports import CartDecoder
from services.transcription.ports import Recording, Transcriber

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Doorbell(Protocol):
    """Notifies workers that an order waits. A notification may be lost: the sweeper repeats it from SQL."""

    def ring(self, order_id: str, state: State, *, delay_s: float = 0.0) -> bool:
        """Notify the stage that `state` waits for; return False, and log, if the broker is down. The order id
        is for logs and traces: another order's turn may come first."""
        ...

    def held(self, fresh_s: float) -> Counter[State] | None:
        """Count the notifications of each stage: waiting ones, and those taken by a worker in the last
        `fresh_s` seconds. Returns None, and logs, if the broker is down."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What stages use. Engines are functions, so that a worker loads only the one its stage needs."""

    transcriber: Callable[[], Transcriber]
    decoder: Callable[[], CartDecoder]
    menu: Callable[[str, str, int], MenuVersion]
    """By shop, id and version."""
    recording: Callable[[str], AbstractContextManager[Path]]
    """A recording as a local file, in a `with`; raises RecordingLost, StorageUnavailable."""
    decode_audio: Callable[[Path], npt.NDArray[np.float32]]
    """Decode a recording to samples, as in `Recording.samples`."""
    second_transcriber: Callable[[], Transcriber | None]
    agreement: Callable[[str, str, float], float | None]
    """Measured share of right orders where two recognizers agree, by their `Transcript.source` and the
    first one's confidence."""
    policy: Policy
    accepts: Callable[[str], Acceptance] = lambda _: Acceptance()
    """By shop."""
    compact: Callable[[Recording], str | None] = lambda _: None
    """Store a smaller copy of the recording, as FLAC, and return its key; None if it is small already."""
    drop_recording: Callable[[str], object] = lambda _: None
    """Delete a stored recording, by its key, that no order refers to."""
    times_asked_again: Callable[[OrderRecord], int] = lambda _: 2**31
    """How often the customer was asked to repeat an order in the last hour."""
    chunked_prefill: bool = False
    """True if an order may be handed back while its menu is new to the model; see `CartRequest`."""
    called_off: threading.Event | None = None
    """Set once the order is no longer this worker's; long work may stop then."""
