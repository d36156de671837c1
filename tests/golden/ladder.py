"""Recordings made again in café babble, for the gate's noisy sets.

Noise is drawn from a seed, the recording's name and the kind of noise: the same each time, and at two levels
the same noise, only louder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from services.transcription.audio.audio import RATE, DecodeLimits, Samples, decode
from services.transcription.audio.containers import sniff_file
from tests.golden import noise

TALKERS = Path(__file__).resolve().parent / "babble"
PEAK = 0.98


@dataclass(frozen=True, slots=True)
class Rung:
    """One condition. `snr_db` is speech over noise, measured over the frames in which somebody talks."""

    kind: Literal["babble"]
    snr_db: int


def read(path: Path) -> Samples:
    """A recording as the product hears it: float32 mono at `RATE`."""
    return decode(path, sniff_file(path), DecodeLimits())


@cache
def talkers() -> tuple[Samples, ...]:
    """Six people talking about anything but food, each for about 15 s."""
    return tuple(read(path) for path in sorted(TALKERS.glob("*.opus")))


def degrade(clean: Samples, rung: Rung, name: str, seed: int) -> Samples:
    """`clean` under the conditions of a rung. `name` is the recording's, which the noise is drawn from."""
    if noise.speech_rms(clean, RATE) == 0:
        return clean  # silence has no level that noise could be measured by
    around = noise.babble(talkers(), len(clean), RATE, _seed(seed, rung.kind, name))
    made = noise.mix(clean, around, rung.snr_db, RATE)
    # Turned down rather than clipped; a ratio is not changed by it.
    return (made * min(1.0, PEAK / float(np.abs(made).max(initial=PEAK)))).astype(np.float32)


def _seed(seed: int, kind: str, name: str) -> int:
    digest = hashlib.sha256(f"{seed} {kind} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
