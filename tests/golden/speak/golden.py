"""Speaks the evaluation sets: every gold row with `speech`, the sealed orders of menus by strangers in
`spoken.jsonl`, and the talkers of the noise ladder's babble.

    python -m tests.golden.speak.golden --pieces DIR           what is missing or was changed
    python -m tests.golden.speak.golden --pieces DIR --check   compare with the manifests, write nothing

The gold files and `babble/talk.json` are the spec; the folders' manifests are made from them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden import noise
from tests.golden.files import OPUS_BITS_PER_S, RATE, write
from tests.golden.speak.voices import LICENCE, MODEL, MODEL_SHA256, Voices

GOLDEN = Path(__file__).resolve().parents[1]
SEALED = GOLDEN.parent / "told" / "sealed"
TOOL = "tests/golden/speak/golden.py"
LEAD_S, TAIL_S = 0.35, 0.5
LEVEL_DBFS = -24.0


@dataclass(frozen=True)
class Clip:
    """One recording to make: its name, what is said, by whom and how fast."""

    file: str
    text: str
    voice: str
    speed: float


def orders(folder: Path = GOLDEN) -> Iterator[Clip]:
    """The spoken rows of every gold file of a folder. `speech.text` is there where the transcript spells it
    wrongly."""
    for gold in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, gold.read_text(encoding="utf-8").splitlines()):
            if speech := row.get("speech"):
                said = speech.get("text", row["utterance"])
                yield Clip(row["audio"], said, speech["voice"], speech["speed"])


def talkers() -> Iterator[Clip]:
    for raw in json.loads((GOLDEN / "babble" / "talk.json").read_text(encoding="utf-8")):
        yield Clip(**raw)


def speak(clips: list[Clip], folder: Path, voices: Voices, check: bool) -> int:
    """Bring `folder` and its manifest up to date, or only compare; how many recordings differ."""
    manifest = folder / "manifest.json"
    kept: dict[str, dict[str, Any]] = {}
    if manifest.exists():
        kept = {e["file"]: e for e in json.loads(manifest.read_text(encoding="utf-8"))["recordings"]}
    folder.mkdir(exist_ok=True)
    entries, differing = [], 0
    for clip in clips:
        wanted = {"text": clip.text, "voice": clip.voice, "speed": clip.speed}
        entry = kept.get(clip.file)
        current = entry is not None and wanted.items() <= entry.items() and (folder / clip.file).exists()
        if check or not current:
            made = make(clip, voices)
            entry = {
                "file": clip.file,
                "text": clip.text,
                "tool": TOOL,
                "model": MODEL,
                "voice": clip.voice,
                "licence": LICENCE,
                "speed": clip.speed,
                "seconds": made[1],
                "bytes": len(made[0]),
                "sha256": hashlib.sha256(made[0]).hexdigest(),
            }
            same = entry == kept.get(clip.file)
            differing += not same
            print(f"{clip.file}  {made[1]:5.2f} s  {len(made[0]):6d} bytes  {'same' if same else 'new'}")
            if not check:
                (folder / clip.file).write_bytes(made[0])
        assert entry is not None, "just spoken, or current"
        entries.append(entry)
    if not check:
        head = {"rate": RATE, "channels": 1, "opus_bits_per_s": OPUS_BITS_PER_S, "model_sha256": MODEL_SHA256}
        document = {**head, "recordings": entries}
        manifest.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return differing


def make(clip: Clip, voices: Voices) -> tuple[bytes, float]:
    """The encoded recording and its length in seconds."""
    speech = voices.say(clip.text, clip.voice, clip.speed)
    padded = np.pad(speech, (int(LEAD_S * RATE), int(TAIL_S * RATE))).astype(np.float32)
    level = padded * 10 ** (LEVEL_DBFS / 20) / noise.speech_rms(padded, RATE)
    audio = (level * min(1.0, 0.98 / float(np.abs(level).max()))).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / clip.file
        write(path, audio)
        return path.read_bytes(), round(len(audio) / RATE, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pieces", type=Path, required=True, help="folder with the downloaded packages")
    parser.add_argument("--check", action="store_true", help="compare with the manifests, write nothing")
    args = parser.parse_args()
    voices = Voices(args.pieces)
    differing = sum(
        speak(list(clips), folder, voices, args.check)
        for clips, folder in (
            (talkers(), GOLDEN / "babble"),
            (orders(), GOLDEN / "audio"),
            (orders(SEALED), SEALED / "audio"),
        )
    )
    return 1 if args.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
