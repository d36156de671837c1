"""Augment spoken orders, in batches, on the device of the samples (torch).

Each time at random: speed, reverberation, babble, noise, telephone bandwidth, loudness, and masked stretches
of time and frequency. The result is the model's input as in faster-whisper: a log mel spectrogram padded with
zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

RATE, HOP, FFT, FRAMES = 16_000, 160, 400, 3_000
"""Sample rate, samples per frame and per spectrum, frames of a full window (30 s)."""
_PADDING_S = 2  # silence after the recording in a shorter window, as `encoded.fitting` leaves it


# The probability of each augmentation, and its range.
SPEED, ROOM, TALK, NOISE, TELEPHONE, MASKED = 0.5, 0.3, 0.4, 0.3, 0.15, 0.4
SPEEDS = 0.88, 1.14
TALK_DB, NOISE_DB, LEVEL_DB = (2.0, 22.0), (0.0, 25.0), (-38.0, -14.0)
BEFORE_S, AFTER_S = (0.0, 0.6), (0.05, 0.8)


@dataclass(frozen=True, slots=True)
class Sounds:
    """A batch: `features` (n x mel bands x frames), and the start and end of each order in seconds."""

    features: Tensor
    spans: list[tuple[float, float]]


def uniform(low_high: tuple[float, float], rng: torch.Generator) -> float:
    low, high = low_high
    return low + (high - low) * float(torch.rand((), generator=rng))


def happens(probability: float, rng: torch.Generator) -> bool:
    return bool(torch.rand((), generator=rng) < probability)


def loudness(sound: Tensor) -> Tensor:
    """Return the root mean square of the louder half of 20 ms frames, which excludes silence."""
    frames = sound[: len(sound) // 320 * 320].view(-1, 320).square().mean(1)
    return frames.sort().values[len(frames) // 2 :].mean().sqrt().clamp_min(1e-5)


def round_length(length: int) -> int:
    """Round up to a power of two: planning a Fourier transform for each length takes a GPU far longer than
    the transform."""
    return 1 << (length - 1).bit_length()


def change_speed(sound: Tensor, factor: float) -> Tensor:
    """Change speed and pitch together, like a tape."""
    return interpolate(sound[None, None], size=max(FFT, int(len(sound) / factor)), mode="linear")[0, 0]


def reverberate(sound: Tensor, echo_s: float, wet: float) -> Tensor:
    """Add an echo of decaying noise that is 60 dB down after `echo_s`."""
    n = int(echo_s * RATE)
    decay = torch.exp(-6.9 * torch.arange(n, device=sound.device) / n)
    echo = torch.randn(n, device=sound.device) * decay
    echo *= wet / echo.square().sum().sqrt()
    echo[0] += 1.0
    size = round_length(len(sound) + n)
    spectrum = torch.fft.rfft(sound, size) * torch.fft.rfft(echo, size)
    return torch.fft.irfft(spectrum, size)[: len(sound)]


def babble(speakers: Sequence[Tensor], length: int, rng: torch.Generator) -> Tensor:
    """Mix several speakers, each looped from a random offset."""
    mixed = torch.zeros(length, device=speakers[0].device)
    for recording in speakers:
        voice = recording.float() / 32768
        voice = voice / loudness(voice)
        start = int(torch.randint(len(voice), (), generator=rng))
        repeats = -(-(length + start) // len(voice))
        mixed += voice.repeat(repeats)[start : start + length]
    return mixed


def noise(length: int, slope: float, device: torch.device) -> Tensor:
    """Return noise with power falling as frequency to the power of `slope` (0 white, 1 pink, 2 brown)."""
    size = round_length(length)
    spectrum = torch.fft.rfft(torch.randn(size, device=device))
    bins = torch.arange(1, len(spectrum) + 1, device=device)
    return torch.fft.irfft(spectrum * bins ** (-slope / 2), size)[:length]


def band_pass(sound: Tensor, low: float, high: float) -> Tensor:
    size = round_length(len(sound))
    spectrum = torch.fft.rfft(sound, size)
    frequency = torch.linspace(0, RATE / 2, len(spectrum), device=sound.device)
    passed = (frequency >= low) & (frequency <= high)
    return torch.fft.irfft(spectrum * passed, size)[: len(sound)]


def augment(
    sound: Tensor, speakers: Sequence[Tensor], rng: torch.Generator
) -> tuple[Tensor, tuple[float, float]]:
    """Augment a recording (16 bits); return it with the start and end of the order in seconds."""
    voice = sound.float() / 32768
    if happens(SPEED, rng):
        voice = change_speed(voice, uniform(SPEEDS, rng))
    before, after = (int(uniform(s, rng) * RATE) for s in (BEFORE_S, AFTER_S))
    span = before / RATE, (before + len(voice)) / RATE
    level = loudness(voice)
    mixed = pad(voice, (before, after))
    if happens(ROOM, rng):
        mixed = reverberate(mixed, uniform((0.1, 0.6), rng), uniform((0.1, 0.7), rng))
    if happens(TALK, rng):
        count = int(torch.randint(1, 7, (), generator=rng))
        chosen = torch.randint(len(speakers), (count,), generator=rng)
        background = babble([speakers[i] for i in chosen.tolist()], len(mixed), rng)
        if happens(0.5, rng):
            background = band_pass(background, 0, uniform((1500, 4000), rng))
        mixed = mix(mixed, background, level, uniform(TALK_DB, rng))
    if happens(NOISE, rng):
        background = noise(len(mixed), uniform((0.0, 2.5), rng), mixed.device)
        mixed = mix(mixed, background, level, uniform(NOISE_DB, rng))
    if happens(TELEPHONE, rng):
        mixed = band_pass(mixed, 300, 3400)
    mixed = mixed * (10 ** (uniform(LEVEL_DB, rng) / 20) / level)
    return mixed.clamp(-1, 1), span


def mix(sound: Tensor, background: Tensor, level: Tensor, snr_db: float) -> Tensor:
    rms = background.square().mean().sqrt().clamp_min(1e-6)
    return sound + background * (level * 10 ** (-snr_db / 20) / rms)


def features(sounds: Sequence[Tensor], mel: Tensor, full: bool) -> Tensor:
    """Return log mel spectrograms (n x bands x frames); `mel` is bands x 201.

    Windows are 30 s if `full`, otherwise the longest recording plus 2 s.
    """
    lengths = [min(len(one), RATE * 30 - HOP) + HOP for one in sounds]
    longest = -(-max(lengths) // RATE) * RATE + FFT  # whole seconds, for the reason in `round_length`
    batch = torch.stack(
        [
            pad(one[: n - HOP], (0, longest - min(len(one), n - HOP)))
            for one, n in zip(sounds, lengths, strict=True)
        ]
    )
    window = torch.hann_window(FFT, device=batch.device)
    power = torch.stft(batch, FFT, HOP, window=window, return_complex=True)[..., :-1].abs() ** 2
    logs = torch.log10((mel @ power).clamp_min(1e-10))
    frames = torch.tensor([n // HOP for n in lengths], device=batch.device)
    valid = torch.arange(logs.shape[-1], device=batch.device)[None] < frames[:, None]
    top = logs.masked_fill(~valid[:, None], -20.0).amax((1, 2), keepdim=True)
    logs = ((torch.maximum(logs, top - 8.0) + 4.0) / 4.0) * valid[:, None]
    seconds = math.ceil(int(frames.max()) / 100) + _PADDING_S
    size = FRAMES if full else min(FRAMES, 100 * seconds)
    return pad(logs, (0, size - logs.shape[-1]))[..., :size]


def mask_stretches(spectrograms: Tensor, rng: torch.Generator) -> Tensor:
    """Zero some stretches of time, up to 0.3 s, and some frequency bands (SpecAugment)."""
    for one in spectrograms:
        if happens(MASKED, rng):
            for axis, max_width, count in ((1, 30, 2), (0, 12, 2)):
                filled = int(one.any(0).sum()) if axis else one.shape[0]
                for _ in range(count):
                    width = int(torch.randint(1, max_width + 1, (), generator=rng))
                    start = int(torch.randint(max(1, filled - width), (), generator=rng))
                    one.narrow(axis, start, min(width, one.shape[axis] - start)).zero_()
    return spectrograms


def batch(
    sounds: Sequence[Tensor],
    speakers: Sequence[Tensor],
    mel: Tensor,
    rng: torch.Generator,
    full: bool,
) -> Sounds:
    """Augment some spoken orders; `speakers` are used as background talk."""
    mixed, spans = zip(*(augment(one, speakers, rng) for one in sounds), strict=True)
    return Sounds(mask_stretches(features(mixed, mel, full), rng), list(spans))
