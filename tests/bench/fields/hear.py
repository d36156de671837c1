"""Golden recordings heard once and kept, with each word's probability.

    python -m tests.bench.fields.hear --out heard.jsonl

The tuned half alone, clean and on five rungs of the noise ladder, heard as the product does: a second time
with the menu's words where the first left doubt. Two seconds a recording on one core; what is there already
is not heard again, so it can be stopped and gone on with. Real people's orders are heard by
`tests/bench/hearing/calibrate_asr.py`, for the table of the ASR confidence.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper.audio import decode_audio

from infra.settings import settings
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.engines.ports import Recording as Spoken
from services.engines.recognition.adapted import known_as, of_name
from services.engines.recognition.audio import RATE, Samples
from services.engines.recognition.whisper import WhisperTranscriber
from services.evaluation.run import read_gold
from services.hearing.second_hearing import hear
from tests.golden.files import write
from tests.golden.ladder import Rung, degrade

ROOT = Path(__file__).resolve().parents[3]
GOLDEN, MENUS = ROOT / "tests" / "golden", ROOT / "infra" / "samples" / "menus"
TUNED = ("harbor-coffee", "copper-skillet")
RUNGS = (
    Rung("clean"),
    Rung("babble", 10),
    Rung("babble", 5),
    Rung("car", 10),
    Rung("telephone"),
    Rung("babble", 20),
)
SEED = 1  # of the ladder, as `make ladder` has it


@dataclass(frozen=True, slots=True)
class Recording:
    """One gold row with a recording; `group` is its voice."""

    source: str
    gold: dict[str, Any]
    audio: Path
    menu: Menu

    @property
    def group(self) -> str:
        return str(self.gold["speech"]["voice"])


def recordings() -> Iterator[Recording]:
    """Of the tuned half."""
    for name in TUNED:
        menu = Menu.parse(json.loads((MENUS / f"{name}.json").read_text()))
        for row in read_gold(GOLDEN / f"{name}-tuned.jsonl"):
            if row.get("audio"):
                yield Recording(name, row, GOLDEN / "audio" / row["audio"], menu)


def kept(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Hearings by (id of the order, rung)."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["id"], row["rung"]): row for row in rows}


def on_rung(recording: Recording, rung: Rung, folder: Path) -> Path:
    """The recording as it sounds on a rung, in its own container, as `make ladder` writes it."""
    if rung.kind == "clean":
        return recording.audio
    file = folder / recording.audio.name
    write(file, degrade(samples(recording.audio), rung, recording.audio.name, SEED))
    return file


def samples(audio: Path) -> Samples:
    """Our own recordings need no confined child."""
    return np.asarray(decode_audio(str(audio), RATE), np.float32)


FLOOR = settings().asr_threshold


class Listener(WhisperTranscriber):
    """The product's recogniser, always with its whole context, which also remembers its first hearing."""

    first: Transcript | None = None

    def transcribe(self, recording: Spoken, language: str) -> Transcript:
        self.first = super().transcribe(recording, language)
        return self.first


def listener(threads: int) -> Listener:
    config = settings()
    name = known_as(config.whisper_model)
    return Listener(of_name(name, config.models_dir), name=name, threads=threads, fits=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    known, ears, everything = kept(args.out), listener(args.threads), list(recordings())
    with args.out.open("a") as file, tempfile.TemporaryDirectory() as folder:
        for rung in RUNGS:
            for one in everything:
                if (one.gold["id"], rung.name) in known:
                    continue
                started = time.perf_counter()
                audio = on_rung(one, rung, Path(folder))
                spoken = Spoken(audio, samples)
                final = hear(spoken, one.menu.language, one.menu, 1, ears, floor=FLOOR).transcript
                first = ears.first if final.first_heard is not None else None
                row = {
                    "id": one.gold["id"],
                    "source": one.source,
                    "rung": rung.name,
                    "group": one.group,
                    "heard": final.model_dump(mode="json"),
                    "seconds": round(time.perf_counter() - started, 2),
                    "first": first.model_dump(mode="json") if first else None,
                }
                file.write(json.dumps(row) + "\n")
                file.flush()
            print(f"{rung.name}: heard", flush=True)


if __name__ == "__main__":
    main()
