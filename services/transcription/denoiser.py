"""Turns the noise of a recording down, by DeepFilterNet3, for one more hearing where the first left doubt.

Whisper hears worse what was cleaned as far as the model can: it takes the customer along with the café.
Turned down by `AT_MOST_DB` a recording is heard rightly in places where it was not as it is, and the other
way round, so the menu chooses between the two (`services/transcription/transcribe.py`, ADR 28).

The networks (https://github.com/Rikorose/DeepFilterNet, MIT or Apache-2.0) run on ONNX Runtime, which
faster-whisper brings along; what is around them is done here as the paper (arXiv:2305.08227) and its library
`libDF` do it. They work on 48 kHz in frames of 10 ms. At our 16 kHz the same frames have the same lower third
of a spectrum, and nothing above it, so nothing is resampled.
"""

from __future__ import annotations

import tarfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from services.transcription.audio.audio import Samples

DENOISED = "denoised"
AT_MOST_DB = 6.0
NOISY_FROM_DB = 1.0
"""Clean recordings lose 0.2 to 0.7 dB, in babble at 20 dB some 1, at 10 dB 2 to 5."""
LONGEST_S = 20.0
"""The networks hold 20 MB for a second of sound. Orders take 3 to 8 s; what is longer is heard as it is."""
_HOP, _WINDOW = 160, 320  # samples: 10 and 20 ms
_BINS, _ALL_BINS = 161, 481  # of a frame's spectrum, 50 Hz each: ours, and the model's
_BANDS, _FILTERED = 32, 96  # bands that get one gain each; lowest bins, which get a filter each
_TAPS, _AHEAD = 5, 2  # frames that a filter joins; those that model and filter see ahead
_KEPT = 0.99  # of the running means that features are measured from, each frame

Spectra = npt.NDArray[np.complex64]


@dataclass(frozen=True, slots=True)
class Quieter:
    """A recording with its noise turned down; `removed_db`: by how much its power would fall, were all taken
    away that the model holds for noise."""

    samples: Samples
    removed_db: float

    @property
    def was_noisy(self) -> bool:
        return self.removed_db >= NOISY_FROM_DB


class Denoiser:
    """DeepFilterNet3, loaded on first use (32 MB); 0.02 to 0.07 s of one core for a second of sound.

    Args:
        weights: gives the archive of its networks, `deepfilternet3.tar.gz` of the model lock.
        threads: CPU threads of one recording.
    """

    def __init__(self, weights: Callable[[], Path], threads: int = 1) -> None:
        self._weights, self._threads = weights, threads
        self._nets: dict[str, Any] = {}
        self._loading = threading.Lock()
        turn = np.sin(np.pi * (np.arange(_WINDOW) + 0.5) / _WINDOW)
        self._window = np.sin(0.5 * np.pi * turn**2).astype(np.float32)
        widths = band_widths()
        self._widths, self._starts = np.array(widths), np.cumsum([0, *widths[:-1]])
        self._band_of = np.repeat(np.arange(_BANDS), widths)[:_BINS]

    def load(self) -> None:
        """Load the networks now. Raises what `weights` does, OSError, or ONNX Runtime's own errors."""
        with self._loading:
            if self._nets:
                return
            import onnxruntime  # late, as faster-whisper does: it costs memory

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
            options.log_severity_level = 3  # of nothing but errors
            with tarfile.open(self._weights()) as archive:
                files = {Path(member.name).stem: member for member in archive if member.isfile()}
                nets = {}
                for name in ("enc", "erb_dec", "df_dec"):
                    stream = archive.extractfile(files[name])
                    assert stream is not None, "a file, as looked for"
                    nets[name] = onnxruntime.InferenceSession(stream.read(), options)
            self._nets = nets

    def __call__(self, samples: Samples) -> Quieter:
        """`samples` (n,), float32 mono at 16 kHz, and as many back."""
        self.load()
        noisy = self._spectra(samples)
        clean = self._clean(noisy)
        frames = len(clean)
        all_power, left = (float(np.sum(np.abs(part) ** 2)) for part in (noisy[:frames], clean))
        kept = 10 ** (-AT_MOST_DB / 20)
        sound = self._sound(clean * (1 - kept) + noisy[:frames] * kept, len(samples))
        return Quieter(sound, float(10 * np.log10((all_power + 1e-12) / (left + 1e-12))))

    def _spectra(self, samples: Samples) -> Spectra:
        """A spectrum a frame (frames x bins), with as many behind as are seen ahead."""
        frames = -(-len(samples) // _HOP) + 1 + _AHEAD
        padded = np.zeros((frames + 1) * _HOP, np.float32)
        padded[_HOP : _HOP + len(samples)] = samples
        starts = np.arange(frames)[:, None] * _HOP
        windows = padded[starts + np.arange(_WINDOW)] * self._window
        return (np.fft.rfft(windows, axis=1) / _WINDOW).astype(np.complex64)

    def _sound(self, spectra: Spectra, length: int) -> Samples:
        """The samples of overlapping frames."""
        parts = np.fft.irfft(spectra * _WINDOW, n=_WINDOW, axis=1) * self._window
        sound = np.zeros((len(spectra) + 1) * _HOP, np.float32)
        sound[:-_HOP] += parts[:, :_HOP].ravel()
        sound[_HOP:] += parts[:, _HOP:].ravel()
        return sound[_HOP : _HOP + length]

    def _clean(self, noisy: Spectra) -> Spectra:
        """What the model takes for speech: each band by its gain, the lowest bins by a filter over frames."""
        bands, low = self._features(noisy)
        asked = {"feat_erb": bands[None, None], "feat_spec": np.stack([low.real, low.imag])[None]}
        e0, e1, e2, e3, emb, c0, _ = self._nets["enc"].run(None, asked)
        gains = self._nets["erb_dec"].run(["m"], {"emb": emb, "e3": e3, "e2": e2, "e1": e1, "e0": e0})[0]
        filters = self._nets["df_dec"].run(["coefs"], {"emb": emb, "c0": c0})[0]
        # What comes out for a frame was known once those ahead of it had gone in.
        gains = gains[0, 0, _AHEAD:]
        filters = filters.reshape(-1, _FILTERED, _TAPS, 2)[_AHEAD:]
        frames = len(gains)
        clean: Spectra = noisy[:frames] * gains[:, self._band_of]
        before = np.zeros((_AHEAD, _FILTERED), np.complex64)
        around = np.concatenate([before, noisy[:, :_FILTERED]])
        taps = [around[k : k + frames] * (filters[..., k, 0] + 1j * filters[..., k, 1]) for k in range(_TAPS)]
        clean[:, :_FILTERED] = sum(taps)
        return clean

    def _features(self, noisy: Spectra) -> tuple[npt.NDArray[np.float32], Spectra]:
        """Loudness of the bands in tens of dB, and the lowest bins, each relative to its own running mean."""
        power = np.zeros((len(noisy), _ALL_BINS), np.float32)
        power[:, :_BINS] = np.abs(noisy) ** 2
        bands = 10 * np.log10(np.add.reduceat(power, self._starts, axis=1) / self._widths + 1e-10)
        low, size = noisy[:, :_FILTERED].copy(), np.abs(noisy[:, :_FILTERED])
        loudness, scale = np.linspace(-60, -90, _BANDS), np.linspace(1e-3, 1e-4, _FILTERED)
        for frame in range(len(noisy)):
            loudness = loudness * _KEPT + bands[frame] * (1 - _KEPT)
            scale = scale * _KEPT + size[frame] * (1 - _KEPT)
            bands[frame] = (bands[frame] - loudness) / 40
            low[frame] /= np.sqrt(scale)
        return bands.astype(np.float32), low


def band_widths() -> list[int]:
    """How many bins each band joins: equally wide to the ear (ERB), two at the least."""

    def hertz(erb: float) -> float:
        return float(24.7 * 9.265 * np.expm1(erb / 9.265))

    top = 9.265 * np.log1p((_ALL_BINS - 1) * 50 / (24.7 * 9.265))
    widths, before, owed = list[int](), 0, 0
    for band in range(1, _BANDS + 1):
        end = round(hertz(band * top / _BANDS) / 50)
        width = end - before - owed  # without what bands before it had to take
        owed = max(0, 2 - width)
        widths.append(max(2, width))
        before = end
    widths[-1] += _ALL_BINS - sum(widths)
    return widths
