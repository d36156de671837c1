"""The noise ladder: a folder of clean recordings, made again with café babble, in a car and over a telephone.

    python -m tests.golden.ladder --data FOLDER --out FOLDER

Each rung is a folder under OUT holding every recording of DATA by its own name and in its own container, so
that one gold file scores all of them: `saycart eval --gold gold.jsonl --audio-dir OUT/babble-10`. Noise is
drawn from a seed, the recording's name and the kind of noise: the same each time, and on two rungs of one
kind the same noise, only louder. All rungs of one recording take about a second.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from services.transcription.audio.audio import RATE, DecodeLimits, Samples, decode
from services.transcription.audio.containers import sniff_file
from tests.golden import noise
from tests.golden.files import FORMS, write

TALKERS = Path(__file__).resolve().parent / "babble"
PEAK = 0.98


@dataclass(frozen=True, slots=True)
class Rung:
    """One condition. `snr_db` is speech over noise, measured over the frames in which somebody talks."""

    kind: Literal["clean", "babble", "car", "telephone"]
    snr_db: int | None = None

    @property
    def name(self) -> str:
        return self.kind if self.snr_db is None else f"{self.kind}-{self.snr_db}"


RUNGS = (
    Rung("clean"),
    *(Rung("babble", snr) for snr in (20, 10, 5)),
    *(Rung("car", snr) for snr in (20, 10, 5)),
    Rung("telephone"),
)


def read(path: Path) -> Samples:
    """A recording as the product hears it: float32 mono at `RATE`."""
    return decode(path, sniff_file(path), DecodeLimits())


@cache
def talkers() -> tuple[Samples, ...]:
    """Six people talking about anything but food, each for about 15 s."""
    return tuple(read(path) for path in sorted(TALKERS.glob("*.opus")))


def degrade(clean: Samples, rung: Rung, name: str, seed: int) -> Samples:
    """`clean` under the conditions of a rung. `name` is the recording's, which the noise is drawn from."""
    if rung.kind == "clean":
        return clean
    if rung.kind == "telephone":
        made = noise.telephone(clean, RATE)
    elif noise.speech_rms(clean, RATE) == 0:
        return clean  # silence has no level that noise could be measured by
    else:
        assert rung.snr_db is not None
        own = _seed(seed, rung.kind, name)
        around = (
            noise.babble(talkers(), len(clean), RATE, own)
            if rung.kind == "babble"
            else noise.car(len(clean), RATE, own)
        )
        made = noise.mix(clean, around, rung.snr_db, RATE)
    # Turned down rather than clipped; a ratio is not changed by it.
    return (made * min(1.0, PEAK / float(np.abs(made).max(initial=PEAK)))).astype(np.float32)


def _seed(seed: int, kind: str, name: str) -> int:
    digest = hashlib.sha256(f"{seed} {kind} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def climb(data: Path, out: Path, seed: int) -> Iterator[Path]:
    """Make every rung of the recordings in `data`; yields each file when all its rungs are there."""
    recordings = sorted(path for path in data.iterdir() if path.suffix.lower() in FORMS)
    if not recordings:
        raise SystemExit(f"{data} holds no recording that ends in {', '.join(FORMS)}.")
    for rung in RUNGS:
        (out / rung.name).mkdir(parents=True, exist_ok=True)
    for path in recordings:
        clean = read(path)
        for rung in RUNGS:
            target = out / rung.name / path.name
            if rung.kind == "clean":
                shutil.copyfile(path, target)
            else:
                write(target, degrade(clean, rung, path.name, seed))
        yield path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of clean recordings")
    parser.add_argument("--out", type=Path, required=True, help="where the rungs' folders go")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.out.resolve() == args.data.resolve():
        raise SystemExit("--out must not be --data: the clean recordings would lie among the noisy ones.")
    if not args.data.is_dir():
        raise SystemExit(f"{args.data} is no folder.")
    done = sum(1 for _ in climb(args.data, args.out, args.seed))
    left = sorted(path.name for path in args.data.iterdir() if path.suffix.lower() not in FORMS)
    if left:
        print(f"left alone, since they are no {', '.join(FORMS)}: {', '.join(left)}")
    print(f"{done} recordings, {len(RUNGS)} rungs: {', '.join(rung.name for rung in RUNGS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
