"""Spoken orders -> one file that training reads without any decoder of audio.

    python -m services.learning.training.recogniser.pack FOLDER OUT.npz

FOLDER is what `tests/golden/speak/learned.py` leaves: recordings and manifests (`*.jsonl`: `file`, `text`).
Runs in saycart's own environment.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from services.learning.training.recogniser.spoken import SpokenOrder, pack
from services.transcription.audio.audio import DecodeLimits, decode
from services.transcription.audio.containers import sniff_file


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args(argv)
    found = []
    for manifest in sorted(args.folder.glob("*.jsonl")):
        for row in map(json.loads, manifest.read_text(encoding="utf-8").splitlines()):
            if "file" in row:
                file = args.folder / row["file"]
                samples = decode(file, sniff_file(file), DecodeLimits())
                found.append(SpokenOrder((samples * 32767).round().astype(np.int16), row["text"]))
    pack(found, args.out)
    print(f"{len(found)} orders, {sum(len(one.samples) for one in found) / 16_000:.0f} s: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
