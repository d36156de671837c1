"""Sounds that a counter, a car and a telephone add to speech. Every random draw comes from a given seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import signal

Audio = NDArray[np.float32]

_FRAME_S = 0.02
_ACTIVE_BELOW_PEAK_DB = 35.0


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
    room = signal.butter(1, 3000, "lowpass", fs=rate, output="sos")
    return np.asarray(signal.sosfilt(room, out), dtype=np.float32)


def car(samples: int, rate: int, seed: int) -> Audio:
    """A moving car from the inside: engine harmonics, rumble, and tyre noise of higher pitch."""
    rng = np.random.default_rng(seed)
    white = rng.standard_normal(samples)
    rumble = signal.sosfilt(signal.butter(2, 120, "lowpass", fs=rate, output="sos"), white)
    tyres = signal.sosfilt(signal.butter(1, (200, 1800), "bandpass", fs=rate, output="sos"), white)
    t = np.arange(samples) / rate
    wander = 1.5 * np.sin(2 * np.pi * 0.3 * t + rng.uniform(0, 2 * np.pi))
    phase = 2 * np.pi * np.cumsum(38.0 + wander) / rate
    engine = sum(np.sin(k * phase + rng.uniform(0, 2 * np.pi)) / k for k in range(1, 7))
    parts = ((rumble, 1.0), (tyres, 0.5), (engine, 0.35))
    return np.asarray(sum(w * p / np.std(p) for p, w in parts), dtype=np.float32)


def hiss(samples: int, level_dbfs: float, seed: int) -> Audio:
    """The noise of a microphone that nobody speaks into."""
    noise = np.random.default_rng(seed).standard_normal(samples) * 10 ** (level_dbfs / 20)
    return noise.astype(np.float32)


def telephone(audio: Audio, rate: int) -> Audio:
    """What a telephone line leaves: 300 to 3400 Hz."""
    band = signal.butter(4, (300, 3400), "bandpass", fs=rate, output="sos")
    return np.asarray(signal.sosfilt(band, audio), dtype=np.float32)
