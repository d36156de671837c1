"""What a stage may reach for. Handed in by `services/bootstrap.py`; the pipeline wires nothing itself."""

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
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord, StoredRecording
from services.decoding.ports import CartDecoder
from services.transcription.ports import Recording, Transcriber

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Doorbell(Protocol):
    """Tells workers that an order waits. May be lost: the sweeper rings again from SQL."""

    def ring(self, order_id: str, state: State, *, delay_s: float = 0.0) -> bool:
        """Say that there is work for the stage that `state` waits for; False, and logged, when the broker is
        away. The order is named for logs and traces: another's turn may come first."""
        ...

    def held(self, fresh_s: float) -> Counter[State] | None:
        """How often is rung for each stage already: messages that wait, and those that a worker took up to
        `fresh_s` seconds ago. None, and logged, when the broker is away."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """Engines are given as functions, so that a worker loads only the one that its stage asks for."""

    transcriber: Callable[[], Transcriber]
    decoder: Callable[[], CartDecoder]
    menu: Callable[[str, str, int], MenuVersion]
    """By shop, id and version."""
    recording: Callable[[str], AbstractContextManager[Path]]
    """A recording as a file, for the length of a `with`; raises RecordingLost, StorageUnavailable."""
    decode_audio: Callable[[Path], npt.NDArray[np.float32]]
    """The samples of a recording, as `Recording` keeps them."""
    second_transcriber: Callable[[], Transcriber | None]
    agreement: Callable[[str, str, float], float | None]
    """Measured share of right orders where two recognisers agree, by their `Transcript.source` and the
    confidence of the first."""
    policy: Policy
    compacted: Callable[[Recording], StoredRecording | None] = lambda _: None
    """Store a smaller recording with the same sound; None where it is small as it is."""
    remove_recording: Callable[[str], object] = lambda _: None
    """Have the recording of this order, which it has let go of, removed now; the sweeper does it else."""
    drop_recording: Callable[[str], object] = lambda _: None
    """Remove a stored recording, by its key, that no order came to name."""
    sent_back: Callable[[OrderRecord], int] = lambda _: 2**31
    """How often an order's customer was asked to say it again in the last hour; uncounted: too often."""
    in_gaps: bool = False
    """Whether an order may be handed back because its menu is new to the reader; see `CartDecoder.decode`."""
    called_off: threading.Event | None = None
    """Set once the order in hand is no longer this worker's; long work may stop then."""
