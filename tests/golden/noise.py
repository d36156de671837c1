"""Recordings made again in café babble, for the gate's noisy sets.

Noise is drawn from a seed and the name of a recording: the same each time, at two levels the same noise,
only louder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.transcription.audio.audio import RATE, DecodeLimits, decode
from services.transcription.audio.audio import Samples as Audio
from services.transcription.audio.containers import sniff_file

TALKERS = Path(__file__).resolve().parent / "babble"
PEAK = 0.98
_FRAME_S = 0.02
_ACTIVE_BELOW_PEAK_DB = 35.0
_RING_S = 1.0  # the filter below has died away long before


def read(path: Path) -> Audio:
    """A recording as the product hears it: float32 mono at `RATE`."""
    return decode(path, sniff_file(path), DecodeLimits())


@cache
def talkers() -> tuple[Audio, ...]:
    """Six people talking about anything but food, each for about 15 s."""
    return tuple(read(path) for path in sorted(TALKERS.glob("*.opus")))


def degrade(clean: Audio, snr_db: int, name: str, seed: int) -> Audio:
    """`clean` in babble, `snr_db` over it where somebody talks; drawn from the recording's `name`."""
    if speech_rms(clean, RATE) == 0:
        return clean  # silence has no level that noise could be measured by
    digest = hashlib.sha256(f"{seed} babble {name}".encode()).digest()
    around = _babble(talkers(), len(clean), RATE, int.from_bytes(digest[:8], "big"))
    made = _mix(clean, around, snr_db, RATE)
    # Turned down rather than clipped; a ratio is not changed by it.
    return (made * min(1.0, PEAK / float(np.abs(made).max(initial=PEAK)))).astype(np.float32)


def speech_rms(audio: Audio, rate: int) -> float:
    """RMS over the frames in which somebody talks; pauses would make quiet talkers look noisy."""
    frame = int(rate * _FRAME_S)
    usable = audio[: len(audio) // frame * frame].astype(np.float64).reshape(-1, frame)
    power = np.mean(usable**2, axis=1)
    active = power[power > power.max(initial=0.0) * 10 ** (-_ACTIVE_BELOW_PEAK_DB / 10)]
    return float(np.sqrt(active.mean())) if active.size else 0.0


def _mix(speech: Audio, noise: Audio, snr_db: float, rate: int) -> Audio:
    """Speech with as much noise as the signal-to-noise ratio says, measured where there is speech."""
    noise_rms = float(np.sqrt(np.mean(noise.astype(np.float64) ** 2)))
    gain = speech_rms(speech, rate) / noise_rms / 10 ** (snr_db / 20)
    return (speech + gain * noise[: len(speech)]).astype(np.float32)


def _babble(talkers: Sequence[Audio], samples: int, rate: int, seed: int) -> Audio:
    """Several people talking at once, each starting somewhere else, heard across a room."""
    rng = np.random.default_rng(seed)
    out = np.zeros(samples)
    for talker in talkers:
        repeats = samples // len(talker) + 2
        start = int(rng.integers(len(talker)))
        voice = np.tile(talker, repeats)[start : start + samples]
        # Nobody at the other tables stands equally far away.
        out += voice / speech_rms(talker, rate) * 10 ** (rng.uniform(-6.0, 0.0) / 20)
    return _lowpass(out, rate, 3000).astype(np.float32)


def _lowpass(audio: NDArray[np.float64], rate: int, hertz: float) -> NDArray[np.float64]:
    """A causal digital Butterworth filter of the first order, applied in the frequency domain.

    The response is the bilinear transform's, so to rounding this is `scipy.signal.butter` and `sosfilt`.
    """
    samples = len(audio)
    padded = samples + int(_RING_S * rate)  # what rings on must not come round to the beginning
    s = 1j * np.tan(np.pi * np.fft.rfftfreq(padded, 1 / rate)[1:] / rate)
    response = np.concatenate(([1.0], 1 / (s / np.tan(np.pi * hertz / rate) + 1)))
    return np.fft.irfft(np.fft.rfft(audio, padded) * response, padded)[:samples]
