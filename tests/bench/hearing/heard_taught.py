"""Orders that the reader learns from, spoken and heard, so that it learns from a recogniser's own words too.

    python -m tests.bench.hearing.heard_taught spec OUT [--parts 14]   # OUT/00/spec.json, ... to be spoken
    python -m tests.bench.hearing.heard_taught hear OUT/*/             # adds to tests/told/taught/heard.jsonl

Between the two `tests/golden/speak/speak.py` speaks them, in its own environment. A part is a fair sample
of all orders, so those that are done can be learned from. Transcribed as the product does. What `heard.jsonl`
has is not transcribed again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper.audio import decode_audio

from infra.settings import settings
from services.learning.training.orders import HEARD, Row, Shop, shops
from services.retrieval.names import MenuNames
from services.transcription.adapted import known_as, of_name
from services.transcription.audio.audio import RATE, Samples
from services.transcription.ports import Recording, Transcriber
from services.transcription.transcribe import hear
from services.transcription.whisper import WhisperTranscriber

VOICES = (
    "af_heart af_nicole af_sarah af_sky am_michael am_puck am_eric am_adam "
    "bf_emma bf_alice bm_george bm_lewis"
).split()
SPEEDS = (0.9, 1.0, 1.0, 1.1, 1.2)
NOISES = (None, None, ("babble", 20.0), ("babble", 10.0), ("babble", 5.0), ("car", 10.0), ("car", 5.0))
PART = 100  # orders of one


def row(shop: Shop, order: Row, number: int, dice: random.Random) -> dict[str, Any]:
    """One row of a spec."""
    noise = dice.choice(NOISES)
    around = {"kind": noise[0], "snr_db": noise[1], "seed": number} if noise else None
    return {
        "id": order.id,
        "menu": shop.menu.id,
        "text": order.said,
        "voice": dice.choice(VOICES),
        "speed": dice.choice(SPEEDS),
        "noise": around,
        "band": "telephone" if dice.random() < 0.2 else "wide",
        "expect": "accept",
        "note": order.source,
        "lines": [],
    }


def specs(out: Path, parts: int) -> None:
    """Write so many parts, drawn from all English orders that are learned from."""
    dice = random.Random(0)
    known = [
        (shop, order) for shop in shops("train") if shop.menu.language[:2] == "en" for order in shop.rows
    ]
    dice.shuffle(known)
    for part in range(parts):
        rows = [row(*one, n, dice) for n, one in enumerate(known[part * PART : (part + 1) * PART])]
        folder = out / f"{part:02}"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"rows": rows}, ensure_ascii=False, indent=1)
        (folder / "spec.json").write_text(text + "\n", encoding="utf-8")


def hear_part(folder: Path, menus: Mapping[str, MenuNames], ears: Transcriber) -> int:
    """Hear what was spoken of a part and not heard yet; the number of those."""
    told = HEARD.read_text(encoding="utf-8").splitlines() if HEARD.exists() else []
    known = {json.loads(line)["id"] for line in told}
    rows = json.loads((folder / "spec.json").read_text(encoding="utf-8"))["rows"]
    count, floor = 0, settings().asr_threshold
    with HEARD.open("a", encoding="utf-8") as out:
        for spoken in rows:
            file = folder / f"{spoken['id']}.flac"
            if spoken["id"] in known or not file.exists():
                continue
            names = menus[spoken["menu"]]
            recording = Recording(file, _samples)
            transcript = hear(recording, names.menu.language, names, ears, floor=floor)
            noise = spoken["noise"] and f"{spoken['noise']['kind']} {spoken['noise']['snr_db']:.0f} dB"
            found = {"id": spoken["id"], "said": spoken["text"], "heard": transcript.text}
            found |= {key: spoken[key] for key in ("voice", "speed", "band")} | {"noise": noise}
            out.write(json.dumps(found, ensure_ascii=False) + "\n")
            out.flush()
            count += 1
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(dest="step", required=True)
    spec = steps.add_parser("spec")
    spec.add_argument("out", type=Path)
    spec.add_argument("--parts", type=int, default=14)
    steps.add_parser("hear").add_argument("folders", type=Path, nargs="+")
    args = parser.parse_args()
    if args.step == "spec":
        specs(args.out, args.parts)
        return 0
    menus = {shop.menu.id: MenuNames(shop.menu) for shop in shops("train")}
    config = settings()
    name = known_as(config.whisper_model)
    ears = WhisperTranscriber(of_name(name, config.models_dir), name=name, threads=1, fits=False)
    for folder in args.folders:
        print(f"{folder}: {hear_part(folder, menus, ears)} heard", flush=True)
    return 0


def _samples(audio: Path) -> Samples:
    """Our own recordings need no confined child."""
    return np.asarray(decode_audio(str(audio), RATE), np.float32)


if __name__ == "__main__":
    sys.exit(main())
