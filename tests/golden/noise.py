"""Mix recordings with café babble, for the gate's noisy sets.

The noise depends on a seed and the recording's name: it is reproducible, and the same at every level.
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
_RING_S = 1.0  # longer than the filter's impulse response


def read(path: Path) -> Audio:
    """Read a recording like the product does: float32 mono at `RATE`."""
    return decode(path, sniff_file(path), DecodeLimits())


@cache
def talkers() -> tuple[Audio, ...]:
    """Six people talking about anything but food, each for about 15 s."""
    return tuple(read(path) for path in sorted(TALKERS.glob("*.opus")))


def degrade(clean: Audio, snr_db: int, name: str, seed: int) -> Audio:
    """Mix `clean` with babble at a signal-to-noise ratio measured in speech."""
    if speech_rms(clean, RATE) == 0:
        return clean  # silence has no level to compare noise with
    digest = hashlib.sha256(f"{seed} babble {name}".encode()).digest()
    around = _babble(talkers(), len(clean), RATE, int.from_bytes(digest[:8], "big"))
    mixed = _mix(clean, around, snr_db, RATE)
    # Attenuate instead of clipping; this keeps the ratio.
    return (mixed * min(1.0, PEAK / float(np.abs(mixed).max(initial=PEAK)))).astype(np.float32)


def speech_rms(audio: Audio, rate: int) -> float:
    """Return the RMS of frames with speech; pauses would make quiet speakers look noisy."""
    frame = int(rate * _FRAME_S)
    usable = audio[: len(audio) // frame * frame].astype(np.float64).reshape(-1, frame)
    power = np.mean(usable**2, axis=1)
    active = power[power > power.max(initial=0.0) * 10 ** (-_ACTIVE_BELOW_PEAK_DB / 10)]
    return float(np.sqrt(active.mean())) if active.size else 0.0


def _mix(speech: Audio, noise: Audio, snr_db: float, rate: int) -> Audio:
    """Add noise at this signal-to-noise ratio, measured in speech."""
    noise_rms = float(np.sqrt(np.mean(noise.astype(np.float64) ** 2)))
    gain = speech_rms(speech, rate) / noise_rms / 10 ** (snr_db / 20)
    return (speech + gain * noise[: len(speech)]).astype(np.float32)


def _babble(talkers: Sequence[Audio], samples: int, rate: int, seed: int) -> Audio:
    """Several talkers at once, at random offsets, low-pass filtered as across a room."""
    rng = np.random.default_rng(seed)
    out = np.zeros(samples)
    for talker in talkers:
        repeats = samples // len(talker) + 2
        start = int(rng.integers(len(talker)))
        voice = np.tile(talker, repeats)[start : start + samples]
        # Each at a different distance.
        out += voice / speech_rms(talker, rate) * 10 ** (rng.uniform(-6.0, 0.0) / 20)
    return _lowpass(out, rate, 3000).astype(np.float32)


def _lowpass(audio: NDArray[np.float64], rate: int, hertz: float) -> NDArray[np.float64]:
    """Apply a first-order Butterworth filter in the frequency domain.

    Equal to `scipy.signal.butter` and `sosfilt` up to rounding.
    """
    samples = len(audio)
    padded = samples + int(_RING_S * rate)  # the response must not wrap around to the beginning
    s = 1j * np.tan(np.pi * np.fft.rfftfreq(padded, 1 / rate)[1:] / rate)
    response = np.concatenate(([1.0], 1 / (s / np.tan(np.pi * hertz / rate) + 1)))
    return np.fft.irfft(np.fft.rfft(audio, padded) * response, padded)[:samples]
