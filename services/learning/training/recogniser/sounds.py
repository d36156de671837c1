"""Spoken orders as they may reach a microphone, a batch at a time where the samples are (torch).

Drawn again each time: another pace, a room, talk or noise around it, a telephone's band, another loudness,
and stretches of time and pitch that are missing. What comes out is what faster-whisper shows its model: the
log mel spectrum of the recording, and zeros behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

RATE, HOP, FFT, FRAMES = 16_000, 160, 400, 3_000
"""Samples a second, samples of a frame and of a spectrum, frames of a whole window (30 s)."""
_CONTEXT_S = 2  # of silence that a shorter window has behind the recording, as `encoded.fitting` leaves it


# How often each thing befalls a recording, and how badly.
PACE, ROOM, TALK, NOISE, TELEPHONE, MISSING = 0.5, 0.3, 0.4, 0.3, 0.15, 0.4
PACES = 0.88, 1.14
TALK_DB, NOISE_DB, LEVEL_DB = (2.0, 22.0), (0.0, 25.0), (-38.0, -14.0)
BEFORE_S, AFTER_S = (0.0, 0.6), (0.05, 0.8)


@dataclass(frozen=True, slots=True)
class Sounds:
    """A batch: `features` (n x mel bands x frames), and from where to where each order is spoken (s)."""

    features: Tensor
    spans: list[tuple[float, float]]


def uniform(low_high: tuple[float, float], draw: torch.Generator) -> float:
    low, high = low_high
    return low + (high - low) * float(torch.rand((), generator=draw))


def happens(chance: float, draw: torch.Generator) -> bool:
    return bool(torch.rand((), generator=draw) < chance)


def loudness(sound: Tensor) -> Tensor:
    """Root mean square of what is not silence: of the louder half of 20 ms stretches."""
    stretches = sound[: len(sound) // 320 * 320].view(-1, 320).square().mean(1)
    return stretches.sort().values[len(stretches) // 2 :].mean().sqrt().clamp_min(1e-5)


def round_length(length: int) -> int:
    """The next power of two: a GPU plans a Fourier transform for each length, which takes far longer
    than the transform."""
    return 1 << (length - 1).bit_length()


def at_pace(sound: Tensor, pace: float) -> Tensor:
    """Faster and higher, as a tape would run."""
    return interpolate(sound[None, None], size=max(FFT, int(len(sound) / pace)), mode="linear")[0, 0]


def in_room(sound: Tensor, echo_s: float, wet: float) -> Tensor:
    """With an echo of decaying noise that is 60 dB down after `echo_s`."""
    n = int(echo_s * RATE)
    fall = torch.exp(-6.9 * torch.arange(n, device=sound.device) / n)
    echo = torch.randn(n, device=sound.device) * fall
    echo *= wet / echo.square().sum().sqrt()
    echo[0] += 1.0
    size = round_length(len(sound) + n)
    spectrum = torch.fft.rfft(sound, size) * torch.fft.rfft(echo, size)
    return torch.fft.irfft(spectrum, size)[: len(sound)]


def talk(others: Sequence[Tensor], length: int, draw: torch.Generator) -> Tensor:
    """Others who talk at once, each from anywhere in what they say and over again."""
    first = others[0]
    mixed = torch.zeros(length, device=first.device)
    for one in others:
        voice = one.float() / 32768
        voice = voice / loudness(voice)
        start = int(torch.randint(len(voice), (), generator=draw))
        times = -(-(length + start) // len(voice))
        mixed += voice.repeat(times)[start : start + length]
    return mixed


def noise(length: int, slope: float, device: torch.device) -> Tensor:
    """Noise whose power falls with frequency to the power of `slope` (0 white, 1 pink, 2 brown)."""
    size = round_length(length)
    spectrum = torch.fft.rfft(torch.randn(size, device=device))
    bins = torch.arange(1, len(spectrum) + 1, device=device)
    return torch.fft.irfft(spectrum * bins ** (-slope / 2), size)[:length]


def band(sound: Tensor, low: float, high: float) -> Tensor:
    size = round_length(len(sound))
    spectrum = torch.fft.rfft(sound, size)
    at = torch.linspace(0, RATE / 2, len(spectrum), device=sound.device)
    return torch.fft.irfft(spectrum * ((at >= low) & (at <= high)), size)[: len(sound)]


def as_recorded(
    sound: Tensor, pool: Sequence[Tensor], draw: torch.Generator
) -> tuple[Tensor, tuple[float, float]]:
    """One recording of a spoken order (16 bits), and where in it the order is."""
    voice = sound.float() / 32768
    if happens(PACE, draw):
        voice = at_pace(voice, uniform(PACES, draw))
    before, after = (int(uniform(s, draw) * RATE) for s in (BEFORE_S, AFTER_S))
    span = before / RATE, (before + len(voice)) / RATE
    level = loudness(voice)
    mixed = pad(voice, (before, after))
    if happens(ROOM, draw):
        mixed = in_room(mixed, uniform((0.1, 0.6), draw), uniform((0.1, 0.7), draw))
    if happens(TALK, draw):
        picked = torch.randint(len(pool), (int(torch.randint(1, 7, (), generator=draw)),), generator=draw)
        around = talk([pool[i] for i in picked.tolist()], len(mixed), draw)
        if happens(0.5, draw):
            around = band(around, 0, uniform((1500, 4000), draw))
        mixed = over(mixed, around, level, uniform(TALK_DB, draw))
    if happens(NOISE, draw):
        around = noise(len(mixed), uniform((0.0, 2.5), draw), mixed.device)
        mixed = over(mixed, around, level, uniform(NOISE_DB, draw))
    if happens(TELEPHONE, draw):
        mixed = band(mixed, 300, 3400)
    mixed = mixed * (10 ** (uniform(LEVEL_DB, draw) / 20) / level)
    return mixed.clamp(-1, 1), span


def over(sound: Tensor, around: Tensor, level: Tensor, snr_db: float) -> Tensor:
    return sound + around * (level * 10 ** (-snr_db / 20) / around.square().mean().sqrt().clamp_min(1e-6))


def features(sounds: Sequence[Tensor], mel: Tensor, whole: bool) -> Tensor:
    """What the model is shown of recordings: log mel spectra (n x bands x frames). `mel`: bands x 201.

    `whole`: windows of 30 s, and else as long as the longest recording and 2 s.
    """
    lengths = [min(len(one), RATE * 30 - HOP) + HOP for one in sounds]
    longest = -(-max(lengths) // RATE) * RATE + FFT  # in whole seconds, for the same reason as `round_length`
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
    there = torch.arange(logs.shape[-1], device=batch.device)[None] < frames[:, None]
    top = logs.masked_fill(~there[:, None], -20.0).amax((1, 2), keepdim=True)
    logs = ((torch.maximum(logs, top - 8.0) + 4.0) / 4.0) * there[:, None]
    seconds = math.ceil(int(frames.max()) / 100) + _CONTEXT_S
    size = FRAMES if whole else min(FRAMES, 100 * seconds)
    return pad(logs, (0, size - logs.shape[-1]))[..., :size]


def with_gaps(shown: Tensor, draw: torch.Generator) -> Tensor:
    """Some stretches of time, up to 0.3 s, and some bands put to nothing."""
    for one in shown:
        if happens(MISSING, draw):
            for axis, most, times in ((1, 30, 2), (0, 12, 2)):
                filled = int(one.any(0).sum()) if axis else one.shape[0]
                for _ in range(times):
                    wide = int(torch.randint(1, most + 1, (), generator=draw))
                    start = int(torch.randint(max(1, filled - wide), (), generator=draw))
                    one.narrow(axis, start, min(wide, one.shape[axis] - start)).zero_()
    return shown


def batch(
    sounds: Sequence[Tensor],
    pool: Sequence[Tensor],
    mel: Tensor,
    draw: torch.Generator,
    whole: bool,
) -> Sounds:
    """Some spoken orders, each as it may be recorded; `pool` is who talks around them."""
    mixed, spans = zip(*(as_recorded(one, pool, draw) for one in sounds), strict=True)
    return Sounds(with_gaps(features(mixed, mel, whole), draw), list(spans))
