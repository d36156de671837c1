"""Sounds that a counter, a car and a telephone add to speech. Every random draw comes from a given seed.

numpy alone, so that both the speaking tool and the noise ladder of an ordinary install can use it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Audio = NDArray[np.float32]

_FRAME_S = 0.02
_ACTIVE_BELOW_PEAK_DB = 35.0
_RING_S = 1.0  # the slowest filter below has died away long before


def speech_rms(audio: Audio, rate: int) -> float:
    """RMS over the frames in which somebody talks; pauses would make quiet talkers look noisy."""
    frame = int(rate * _FRAME_S)
    usable = audio[: len(audio) // frame * frame].astype(np.float64).reshape(-1, frame)
    power = np.mean(usable**2, axis=1)
    active = power[power > power.max(initial=0.0) * 10 ** (-_ACTIVE_BELOW_PEAK_DB / 10)]
    return float(np.sqrt(active.mean())) if active.size else 0.0


def mix(speech: Audio, noise: Audio, snr_db: float, rate: int) -> Audio:
    """Speech with as much noise as the signal-to-noise ratio says, measured where there is speech."""
    noise_rms = float(np.sqrt(np.mean(noise.astype(np.float64) ** 2)))
    gain = speech_rms(speech, rate) / noise_rms / 10 ** (snr_db / 20)
    return (speech + gain * noise[: len(speech)]).astype(np.float32)


def babble(talkers: Sequence[Audio], samples: int, rate: int, seed: int) -> Audio:
    """Several people talking at once, each starting somewhere else, heard across a room."""
    rng = np.random.default_rng(seed)
    out = np.zeros(samples)
    for talker in talkers:
        repeats = samples // len(talker) + 2
        start = int(rng.integers(len(talker)))
        voice = np.tile(talker, repeats)[start : start + samples]
        # Nobody at the other tables stands equally far away.
        out += voice / speech_rms(talker, rate) * 10 ** (rng.uniform(-6.0, 0.0) / 20)
    return _butterworth(out, rate, 1, high=3000).astype(np.float32)


def car(samples: int, rate: int, seed: int) -> Audio:
    """A moving car from the inside: engine harmonics, rumble, and tyre noise of higher pitch."""
    rng = np.random.default_rng(seed)
    white = rng.standard_normal(samples)
    rumble = _butterworth(white, rate, 2, high=120)
    tyres = _butterworth(white, rate, 1, low=200, high=1800)
    t = np.arange(samples) / rate
    wander = 1.5 * np.sin(2 * np.pi * 0.3 * t + rng.uniform(0, 2 * np.pi))
    phase = 2 * np.pi * np.cumsum(38.0 + wander) / rate
    engine = sum(np.sin(k * phase + rng.uniform(0, 2 * np.pi)) / k for k in range(1, 7))
    parts = ((rumble, 1.0), (tyres, 0.5), (engine, 0.35))
    return np.asarray(sum(w * p / np.std(p) for p, w in parts), dtype=np.float32)


def telephone(audio: Audio, rate: int) -> Audio:
    """What a telephone line leaves: 300 to 3400 Hz."""
    return _butterworth(audio, rate, 4, low=300, high=3400).astype(np.float32)


def _butterworth(
    audio: NDArray[np.floating], rate: int, order: int, *, high: float, low: float | None = None
) -> NDArray[np.float64]:
    """A causal digital Butterworth filter, lowpass or bandpass (Hz), applied in the frequency domain.

    The response is the bilinear transform's, so to rounding this is `scipy.signal.butter` and `sosfilt`.
    """
    samples = len(audio)
    padded = samples + int(_RING_S * rate)  # what rings on must not come round to the beginning

    def warped(hertz: NDArray[np.float64] | float) -> NDArray[np.float64]:
        return np.tan(np.pi * np.asarray(hertz) / rate)

    s = 1j * warped(np.fft.rfftfreq(padded, 1 / rate)[1:])
    edge = warped(high)
    prototype = s / edge if low is None else (s**2 + edge * warped(low)) / (s * (edge - warped(low)))
    poles = np.exp(1j * np.pi * (2 * np.arange(order) + order + 1) / (2 * order))
    gain = 1 / np.prod(prototype[:, None] - poles, axis=1)
    response = np.concatenate(([1.0 if low is None else 0.0], gain))
    return np.fft.irfft(np.fft.rfft(audio.astype(np.float64), padded) * response, padded)[:samples]
