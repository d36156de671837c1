"""Recordings transcribed and decoded as the product does, once, and kept: what speech is measured on.

    python -m tests.bench.fields.hear --out heard.jsonl [--people DIR]

The tuned half of the golden recordings and orders by real people, clean and on rungs of the noise ladder.
What is there already is not done again, so it can be stopped and gone on with. Five seconds a recording on
one core.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper.audio import decode_audio

from schemas.menu import Menu
from schemas.writable import clean
from services.bootstrap import Container
from services.decoding.ports import CartRequest
from services.learning.evaluation.run import read_gold
from services.retrieval.names import names_of
from services.transcription.audio.audio import RATE, Samples
from services.transcription.confidence import agreement
from services.transcription.ports import Recording as Spoken
from services.transcription.second import with_second
from services.transcription.transcribe import hear
from tests.gate.record import live_engines
from tests.golden.files import write
from tests.golden.ladder import Rung, degrade

ROOT = Path(__file__).resolve().parents[3]
GOLDEN, MENUS = ROOT / "tests" / "golden", ROOT / "infra" / "samples" / "menus"
TUNED = ("harbor-coffee", "copper-skillet")
RUNGS = (Rung("clean"), Rung("babble", 5), Rung("babble", 10), Rung("car", 10))
SEED = 1  # of the ladder, as `make ladder` has it


@dataclass(frozen=True, slots=True)
class Recording:
    """One gold row with a recording; `group` is its voice, or the recording where the speaker is unknown."""

    source: str
    gold: dict[str, Any]
    audio: Path
    menu: Menu

    @property
    def group(self) -> str:
        return str(self.gold.get("speech", {}).get("voice") or self.gold["id"])


def recordings(people: Path | None) -> Iterator[Recording]:
    """Of the tuned half, and of real people."""
    for name in TUNED:
        menu = Menu.parse(json.loads((MENUS / f"{name}.json").read_text()))
        yield from _of(name, GOLDEN / f"{name}-tuned.jsonl", GOLDEN / "audio", menu)
    if people is not None:
        menu = Menu.parse(json.loads((people / "menu.json").read_text()))
        yield from _of("people", people / "gold.jsonl", people / "audio", menu)


def _of(source: str, gold: Path, audio: Path, menu: Menu) -> Iterator[Recording]:
    for row in read_gold(gold):
        if row.get("audio"):
            yield Recording(source, row, audio / row["audio"], menu)


def kept(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows by (id of the order, rung)."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["id"], row["rung"]): row for row in rows}


def samples(audio: Path) -> Samples:
    """Our own recordings need no confined child."""
    return np.asarray(decode_audio(str(audio), RATE), np.float32)


def _sounding(one: Recording, rung: Rung, folder: Path) -> Path:
    """The recording as it sounds on a rung, in its own container, as `make ladder` writes it."""
    if rung.kind == "clean":
        return one.audio
    file = folder / rung.name / one.audio.name
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, degrade(samples(one.audio), rung, one.audio.name, SEED))
    return file


def heard(one: Recording, rung: Rung, live: Container, folder: Path) -> dict[str, Any]:
    """What the product makes of a recording: its transcript, and the model's lines with their probability."""
    started = time.perf_counter()
    spoken, names = Spoken(_sounding(one, rung, folder), samples), names_of(one.menu)
    first = hear(spoken, "en", names, live.transcriber, floor=live.settings.asr_threshold)
    transcript = with_second(spoken, first, names, lambda: live.second_transcriber, agreement)
    row = {"id": one.gold["id"], "source": one.source, "rung": rung.name, "group": one.group}
    row |= {"transcript": transcript.model_dump(mode="json", exclude_defaults=True)}
    row |= {"gold": one.gold["cart"]["lines"]}
    if not transcript.nothing_was_said:
        second = "" if transcript.agreed else transcript.second or ""
        asked = CartRequest(clean(transcript.text), one.menu, clean(second))
        read = live.readers.decode(asked)
        row |= {"lines": list(read.lines), "text": read.text, "logprob": read.logprob}
        row |= {"overruled": read.overruled, "pieces": read.pieces}
    return row | {"seconds": round(time.perf_counter() - started, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--people", type=Path, help="real people's orders: gold.jsonl, menu.json and audio/")
    parser.add_argument("--work", type=Path, default=Path("reports/fields"), help="where noisy files go")
    args = parser.parse_args()
    known, left = kept(args.out), queue.SimpleQueue[tuple[Recording, Rung]]()
    for rung in RUNGS:
        for one in recordings(args.people):
            if (one.gold["id"], rung.name) not in known:
                left.put((one, rung))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    writing, jobs = threading.Lock(), max(1, (os.cpu_count() or 1))

    def work() -> None:
        with live_engines(args.work, jobs) as live:
            while not left.empty():
                row = heard(*left.get(), live, args.work)
                with writing, args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")

    workers = [threading.Thread(target=work) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
