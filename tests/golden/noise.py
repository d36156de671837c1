"""Café babble around speech. Every random draw comes from a given seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Audio = NDArray[np.float32]

_FRAME_S = 0.02
_ACTIVE_BELOW_PEAK_DB = 35.0
_RING_S = 1.0  # the filter below has died away long before


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
