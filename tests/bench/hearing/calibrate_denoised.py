"""Measures hearings with the noise turned down, for `services/transcription/confidence.json`.

    python -m tests.bench.hearing.calibrate_denoised --data DIR [--model faster-whisper-base] [--write]

The recordings and noises of `calibrate_asr.py`. Each mix is heard whole, and where that leaves doubt and
there is noise, once more with it turned down, as `transcription/transcribe.py` does. The table is measured on
those transcripts alone that it then takes, since a choice by the menu makes words look surer than they are.

It also prints how many mixes were heard right and wrong (as in `calibrate_asr.py`), with and without, by the
confidence's floor. Finished mixes are kept in `--heard`; on 2 cores some 25 minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from infra.weights.models import resolve
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.learning.evaluation.statistics import auroc
from services.retrieval.names import MenuNames
from services.transcription.adapted import of_name
from services.transcription.audio.audio import RATE, DecodeLimits, Samples, decode
from services.transcription.audio.containers import sniff_file
from services.transcription.confidence import TABLES
from services.transcription.denoiser import DENOISED, Denoiser
from services.transcription.transcribe import clearer, in_doubt
from services.transcription.whisper import WhisperTranscriber, raw_confidence
from tests.bench.hearing.calibrate_asr import heard_right, in_noise, isotonic, write
from tests.bench.hearing.segments import row_of, segment_of, transcript_of

Row = dict[str, Any]


def transcribed(kept: list[Row], key: str) -> tuple[Transcript, float]:
    """The transcript of kept segments, and their raw confidence."""
    segments = [segment_of(one) for one in kept]
    return transcript_of(segments, key), raw_confidence(segments)


def heard(
    ears: WhisperTranscriber, denoiser: Denoiser, samples: Samples, names: MenuNames, floor: float
) -> Row:
    """Both passes over a mix, the second where the pipeline makes it."""
    whole = [row_of(segment) for segment in ears.hear(samples, "en")]
    first, _ = transcribed(whole, ears.key("en"))
    row: Row = {"segments": whole, "denoised": None, "removed_db": None}
    if first.nothing_was_said or not in_doubt(first, names, floor):
        return row
    quieter = denoiser(samples)
    row["removed_db"] = round(quieter.removed_db, 2)
    if quieter.was_noisy:
        row["denoised"] = [row_of(segment) for segment in ears.hear(quieter.samples, "en")]
    return row


def hear_all(
    ears: WhisperTranscriber,
    clips: list[Samples],
    gold: list[Row],
    names: MenuNames,
    snrs: list[int | None],
    kept: Path,
) -> list[Row]:
    """A row a recording and level, in order; those already in the file `kept` are not heard again."""
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(row["id"], row["snr"]): row for row in rows}
    config = settings()
    denoiser = Denoiser(lambda: Path(resolve(config.denoiser, config.models_dir)), threads=2)
    floor = config.asr_threshold
    with kept.open("a") as file:
        for snr in snrs:
            for index, order in enumerate(gold):
                if (order["id"], snr) not in known:
                    row = heard(ears, denoiser, in_noise(clips, index, snr), names, floor)
                    known[order["id"], snr] = {"id": order["id"], "snr": snr, **row}
                    file.write(json.dumps(known[order["id"], snr]) + "\n")
                    file.flush()
            print(f"heard {len(gold)} at {snr if snr is not None else 'no noise'}", flush=True)
    return [known[order["id"], snr] for snr in snrs for order in gold]


def verdict(one: Transcript, gold: Row, names: MenuNames, floor: float) -> str:
    """Return whether a transcript is right, and sure enough to be taken."""
    if one.nothing_was_said:
        return "nothing"
    right = heard_right(one.text, gold["cart"], names)
    return f"{'right' if right else 'wrong'}, {'sure' if one.confidence >= floor else 'unsure'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="faster-whisper-base")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, besides clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--heard", type=Path, default=Path("heard-denoised.jsonl"))
    parser.add_argument("--write", action="store_true", help="put what was measured into confidence.json")
    args = parser.parse_args()
    config = settings()
    ears = WhisperTranscriber(
        of_name(args.model, config.models_dir), name=args.model, threads=args.threads, fits=False
    )
    names = MenuNames(Menu.parse(json.loads((args.data / "menu.json").read_text())))
    gold = [json.loads(line) for line in (args.data / "gold.jsonl").read_text().splitlines()]
    files = [args.data / "audio" / row["audio"] for row in gold]
    clips = [decode(file, sniff_file(file), DecodeLimits()) for file in files]
    by_id = {row["id"]: row for row in gold}
    key = ears.key("en")
    raw, right, without = list[float](), list[bool](), 0
    counts: dict[str, Counter[str]] = {}
    for row in hear_all(ears, clips, gold, names, [None, *args.snr], args.heard):
        order, level = by_id[row["id"]], "clean" if row["snr"] is None else f"{row['snr']} dB"
        first, _ = transcribed(row["segments"], key)
        quieter, of_quieter = transcribed(row["denoised"] or [], f"{key}+{DENOISED}")
        taken = first if first.nothing_was_said else clearer(first, quieter, names)
        if taken is not first:
            raw.append(of_quieter)
            right.append(heard_right(taken.text, order["cart"], names))
        elif first.nothing_was_said:
            without += 1
        for how, one in (("as it is", first), ("denoised too", taken)):
            count = counts.setdefault(f"{level}, {how}", Counter())
            count[verdict(one, order, names, config.asr_threshold)] += 1
    for name, count in counts.items():
        print(name, dict(sorted(count.items())))
    scores, labels = np.array(raw), np.array(right)
    table = isotonic(scores, labels)
    print(f"{key}+{DENOISED}: {len(raw)} taken, {sum(right)} heard right, AUROC {auroc(raw, right)}")
    print(*table, sep="\n")
    if args.write:
        document = json.loads(TABLES.read_text())
        document["tables"][f"{key}+{DENOISED}"] = {
            "data": f"{len(gold)} human orders, {RATE} Hz, at {args.snr} dB of babble or pink noise, where "
            "more was understood with the noise turned down",
            "heard": len(raw),
            "heard_right": int(labels.sum()),
            "without_words": without,
            "auroc": round(auroc(raw, right) or 0.0, 3),
            "rows": table,
        }
        write(document)


if __name__ == "__main__":
    main()
