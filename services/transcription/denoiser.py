"""Reduce the noise of a recording by DeepFilterNet3, for another pass when the first one was doubtful.

Fully denoised recordings are transcribed worse, since the model removes some of the customer's voice with the
noise. Reduced by at most `AT_MOST_DB`, some recordings are transcribed better and some worse, so the menu
chooses between both transcripts (`services/transcription/transcribe.py`, ADR 28).

The networks (https://github.com/Rikorose/DeepFilterNet, MIT or Apache-2.0) run on ONNX Runtime, a dependency
of faster-whisper; pre- and postprocessing follow the paper (arXiv:2305.08227) and its library `libDF`. They
expect 48 kHz in frames of 10 ms. At 16 kHz the same frames have the lower third of the same spectrum, so
nothing is resampled.
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
"""Clean recordings lose 0.2 to 0.7 dB, with babble at 20 dB about 1, at 10 dB 2 to 5."""
LONGEST_S = 20.0
"""Longer recordings are not denoised: it takes 20 MB a second of audio. Orders take 3 to 8 s."""
_HOP, _WINDOW = 160, 320  # samples: 10 and 20 ms
_BINS, _ALL_BINS = 161, 481  # bins of a frame's spectrum, 50 Hz each: at 16 kHz, and the model's
_BANDS, _FILTERED = 32, 96  # bands with one gain each; lowest bins, with a filter each
_TAPS, _AHEAD = 5, 2  # frames of a filter; lookahead frames of model and filter
_DECAY = 0.99  # of the features' running means, per frame

Spectra = npt.NDArray[np.complex64]


@dataclass(frozen=True, slots=True)
class Denoised:
    """A recording with its noise reduced; `removed_db` is the drop in power if all noise were removed."""

    samples: Samples
    removed_db: float

    @property
    def was_noisy(self) -> bool:
        return self.removed_db >= NOISY_FROM_DB


class Denoiser:
    """DeepFilterNet3, loaded on first use (32 MB); 0.02 to 0.07 s of one core for a second of sound.

    Args:
        weights: returns the archive of its networks, `deepfilternet3.tar.gz` of the model lock.
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
        """Load the networks. Raises the errors of `weights`, OSError, or ONNX Runtime's own."""
        with self._loading:
            if self._nets:
                return
            import onnxruntime  # lazy, as in faster-whisper: it takes memory

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
            options.log_severity_level = 3  # errors only
            with tarfile.open(self._weights()) as archive:
                files = {Path(member.name).stem: member for member in archive if member.isfile()}
                nets = {}
                for name in ("enc", "erb_dec", "df_dec"):
                    stream = archive.extractfile(files[name])
                    assert stream is not None, "a file, as looked for"
                    nets[name] = onnxruntime.InferenceSession(stream.read(), options)
            self._nets = nets

    def __call__(self, samples: Samples) -> Denoised:
        """Denoise `samples`, shape (n,), float32 mono at 16 kHz."""
        self.load()
        noisy = self._spectra(samples)
        clean = self._clean(noisy)
        frames = len(clean)
        power_before, power_after = (float(np.sum(np.abs(part) ** 2)) for part in (noisy[:frames], clean))
        mix = 10 ** (-AT_MOST_DB / 20)
        sound = self._samples(clean * (1 - mix) + noisy[:frames] * mix, len(samples))
        return Denoised(sound, float(10 * np.log10((power_before + 1e-12) / (power_after + 1e-12))))

    def _spectra(self, samples: Samples) -> Spectra:
        """Return the spectra (frames x bins), followed by the lookahead frames."""
        frames = -(-len(samples) // _HOP) + 1 + _AHEAD
        padded = np.zeros((frames + 1) * _HOP, np.float32)
        padded[_HOP : _HOP + len(samples)] = samples
        starts = np.arange(frames)[:, None] * _HOP
        windows = padded[starts + np.arange(_WINDOW)] * self._window
        return (np.fft.rfft(windows, axis=1) / _WINDOW).astype(np.complex64)

    def _samples(self, spectra: Spectra, length: int) -> Samples:
        """Return the samples of overlapping frames."""
        parts = np.fft.irfft(spectra * _WINDOW, n=_WINDOW, axis=1) * self._window
        sound = np.zeros((len(spectra) + 1) * _HOP, np.float32)
        sound[:-_HOP] += parts[:, :_HOP].ravel()
        sound[_HOP:] += parts[:, _HOP:].ravel()
        return sound[_HOP : _HOP + length]

    def _clean(self, noisy: Spectra) -> Spectra:
        """Return the speech: each band by its gain, the lowest bins by a filter over frames."""
        bands, low = self._features(noisy)
        inputs = {"feat_erb": bands[None, None], "feat_spec": np.stack([low.real, low.imag])[None]}
        e0, e1, e2, e3, emb, c0, _ = self._nets["enc"].run(None, inputs)
        gains = self._nets["erb_dec"].run(["m"], {"emb": emb, "e3": e3, "e2": e2, "e1": e1, "e0": e0})[0]
        filters = self._nets["df_dec"].run(["coefs"], {"emb": emb, "c0": c0})[0]
        # The output of a frame comes after its lookahead frames.
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
        """Return the loudness of the bands and the lowest bins, each relative to its running mean."""
        power = np.zeros((len(noisy), _ALL_BINS), np.float32)
        power[:, :_BINS] = np.abs(noisy) ** 2
        bands = 10 * np.log10(np.add.reduceat(power, self._starts, axis=1) / self._widths + 1e-10)
        low, size = noisy[:, :_FILTERED].copy(), np.abs(noisy[:, :_FILTERED])
        loudness, scale = np.linspace(-60, -90, _BANDS), np.linspace(1e-3, 1e-4, _FILTERED)
        for frame in range(len(noisy)):
            loudness = loudness * _DECAY + bands[frame] * (1 - _DECAY)
            scale = scale * _DECAY + size[frame] * (1 - _DECAY)
            bands[frame] = (bands[frame] - loudness) / 40
            low[frame] /= np.sqrt(scale)
        return bands.astype(np.float32), low


def band_widths() -> list[int]:
    """Return the width of each band in bins, on the ERB scale, at least two."""

    def hertz(erb: float) -> float:
        return float(24.7 * 9.265 * np.expm1(erb / 9.265))

    top = 9.265 * np.log1p((_ALL_BINS - 1) * 50 / (24.7 * 9.265))
    widths, previous_end, excess = list[int](), 0, 0
    for band in range(1, _BANDS + 1):
        end = round(hertz(band * top / _BANDS) / 50)
        width = end - previous_end - excess
        excess = max(0, 2 - width)
        widths.append(max(2, width))
        previous_end = end
    widths[-1] += _ALL_BINS - sum(widths)
    return widths
