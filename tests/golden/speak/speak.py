"""Speaks the sample orders of a spec into recordings, a gold file and a manifest.

A development tool with an environment of its own (see README.md); the product never imports it.

    python -m tests.golden.speak.speak --pieces DIR            every row of spec.json
    python -m tests.golden.speak.speak --pieces DIR --only hc-03 hc-07
    python -m tests.golden.speak.speak --pieces DIR --check    speak again and compare with the manifest
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import soundfile

from tests.golden import noise
from tests.golden.files import RATE
from tests.golden.noise import Audio
from tests.golden.speak.recording import Noise, record
from tests.golden.speak.voices import LICENCE, MODEL, MODEL_SHA256, Voices

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parents[2] / "infra" / "samples" / "recordings"


@dataclass(frozen=True)
class Row:
    """One recording of the spec, with what a person would write down for it."""

    id: str
    menu: str
    expect: Literal["accept", "review"]
    note: str
    lines: list[dict[str, Any]]
    text: str = ""
    voice: str | None = None
    speed: float = 1.0
    band: Literal["wide", "telephone"] = "wide"
    noise: Noise | None = None
    silence: dict[str, float] | None = field(default=None)

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Row:
        return cls(**{**raw, "noise": Noise(**raw["noise"]) if raw.get("noise") else None})


def sound(row: Row, voices: Voices) -> Audio:
    """The finished recording of a row."""
    if row.silence:
        length = int(row.silence["seconds"] * RATE)
        return noise.hiss(length, row.silence["level_dbfs"], int(row.silence["seed"]))
    assert row.voice is not None, row.id
    return record(voices, row.text, row.voice, row.speed, row.noise, row.band)


def encode(audio: Audio) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, RATE, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def manifest_entry(row: Row, audio: Audio, flac: bytes) -> dict[str, Any]:
    spoken = row.silence is None
    return {
        "file": f"{row.id}.flac",
        "text": row.text,
        "tool": "tests/golden/speak/speak.py",
        "model": MODEL if spoken else None,
        "voice": row.voice,
        "licence": LICENCE if spoken else None,
        "speed": row.speed if spoken else None,
        "noise": row.noise.kind if row.noise else (None if spoken else "hiss"),
        "snr_db": row.noise.snr_db if row.noise else None,
        "band": row.band,
        "seconds": round(len(audio) / RATE, 2),
        "bytes": len(flac),
        "sha256": hashlib.sha256(flac).hexdigest(),
    }


def gold_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "menu": row.menu,
        "utterance": row.text,
        "audio": f"{row.id}.flac",
        "expect": row.expect,
        "note": row.note,
        "cart": {"lines": row.lines},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pieces", type=Path, required=True, help="folder with the downloaded packages")
    parser.add_argument("--spec", type=Path, default=HERE / "spec.json")
    parser.add_argument("--out", type=Path, default=RECORDINGS)
    parser.add_argument("--only", nargs="*", metavar="ID", help="speak these rows only; keep the others")
    parser.add_argument("--check", action="store_true", help="compare with the manifest, write nothing")
    args = parser.parse_args()

    rows = [Row.parse(raw) for raw in json.loads(args.spec.read_text(encoding="utf-8"))["rows"]]
    manifest = args.out / "manifest.json"
    kept: dict[str, dict[str, Any]] = {}
    if manifest.exists():
        kept = {e["file"]: e for e in json.loads(manifest.read_text(encoding="utf-8"))["recordings"]}
    voices = Voices(args.pieces)
    entries: list[dict[str, Any]] = []
    differing = 0
    for row in rows:
        name = f"{row.id}.flac"
        if args.only and row.id not in args.only:
            if name not in kept:
                raise SystemExit(f"{name} was never spoken: run without --only once")
            entries.append(kept[name])
            continue
        audio = sound(row, voices)
        flac = encode(audio)
        entry = manifest_entry(row, audio, flac)
        entries.append(entry)
        same = kept.get(name) == entry
        differing += not same
        print(f"{name}  {entry['seconds']:5.2f} s  {entry['bytes']:7d} bytes  {'same' if same else 'new'}")
        if not args.check:
            args.out.mkdir(parents=True, exist_ok=True)
            (args.out / name).write_bytes(flac)
    if args.check:
        return 1 if differing else 0
    document = {"rate": RATE, "channels": 1, "model_sha256": MODEL_SHA256, "recordings": entries}
    manifest.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    gold = "".join(json.dumps(gold_row(row), ensure_ascii=False) + "\n" for row in rows)
    (args.out / "gold.jsonl").write_text(gold, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
