"""Measure the ASR confidence tables of `services/transcription/confidence.json`.

    python -m tests.bench.calibration.calibrate_asr --data DIR --model faster-whisper-base --write

`people.py` describes DIR. A transcript is right when retrieval (`services/retrieval`) finds exactly the
items, sizes and options of the cart in it; a word that only sounds like a name ("Americana") is not wrong.
Amounts ("a lot of") and numbers are ignored. With base, 2 cores take about 1 s per recording and level.
Finished transcripts are stored in `--kept`, so a stopped run resumes.

With `--second NAME`, it measures how often a transcript is right that names the same things as a second
recognizer's (`services/transcription/second.py`), on the same recordings and noise.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infra.settings import settings
from services.retrieval.names import MenuNames
from services.transcription.adapted import of_name
from services.transcription.audio.audio import Samples
from services.transcription.confidence import TABLES
from services.transcription.encoded import FITTED
from services.transcription.second import SURE, same_things
from services.transcription.segments import raw_confidence, transcript_of
from services.transcription.whisper import WhisperTranscriber
from tests.bench.calibration.people import People, Row, level, row_of, segment_of
from tests.bench.calibration.tables import as_they_come, cautious, table, write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="faster-whisper-base")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, in addition to clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="file of finished transcripts")
    parser.add_argument("--second", help="measure agreement with this recognizer")
    parser.add_argument("--kept-second", type=Path, help="file of its finished transcripts")
    parser.add_argument("--fitted", action="store_true", help="use a context of each recording's length")
    parser.add_argument("--write", action="store_true", help="update confidence.json")
    args = parser.parse_args()
    how = f"+{FITTED}" if args.fitted else ""
    people, first = People.of(args.data, args.snr), recognizer(args.model, args.threads)
    kept = args.kept or Path(f"transcripts-{args.model}{how}.jsonl")
    rows = people.transcribed(segments_by(first, args.fitted), kept)
    document = json.loads(TABLES.read_text())
    if args.second:
        second = recognizer(args.second, args.threads)
        kept = args.kept_second or Path(f"transcripts-{args.second}.jsonl")
        others = people.transcribed(segments_by(second), kept)
        keys = first.key("en"), second.key("en")
        found = {"data": people.about, **agreements(pairs(people, rows, others, keys), people.names)}
        print(json.dumps(found))
        document["agreements"].setdefault(keys[0], {})[keys[1]] = found
    else:
        key = f"{first.key('en')}{how}"
        document["tables"][key] = measured(key, people, rows)
        document["fallback"] = {"rows": cautious(as_they_come(document["tables"]))}
    if args.write:
        write(document)


def recognizer(model: str, threads: int) -> WhisperTranscriber:
    return WhisperTranscriber(of_name(model, settings().models_dir), name=model, threads=threads)


def segments_by(one: WhisperTranscriber, fitted: bool = False) -> Callable[[Samples], Row]:
    """Return a function that transcribes samples with `one` and returns the row to store."""
    return lambda samples: {"segments": [row_of(s) for s in one.segments(samples, "en", fitted=fitted)]}


def measured(key: str, people: People, rows: list[Row]) -> Row:
    """Return the confidence table of these transcripts."""
    raw, right, levels, silent = list[float](), list[bool](), list[int | None](), 0
    for row in rows:
        segments = [segment_of(kept) for kept in row["segments"]]
        text = transcript_of(segments, key).text
        if not text:
            silent += 1
            continue
        raw.append(raw_confidence(segments))
        right.append(people.right(text, row["id"]))
        levels.append(row["snr"])
    for snr in people.snrs:
        at = [good for good, its in zip(right, levels, strict=True) if its == snr]
        print(f"{level(snr)}: {sum(at)} of {len(at)} right")
    found = table(key, people.about, raw, right, silent)
    confidences, means = ([row[n] for row in found["rows"]] for n in (4, 1))
    print("raw mean at 0.72:", round(float(np.interp(0.72, confidences, means)), 3))
    return found


def pairs(people: People, rows: list[Row], others: list[Row], keys: tuple[str, str]) -> Iterator[Pair]:
    """Yield both recognizers' transcripts of each recording, if the first has words."""
    for row, other in zip(rows, others, strict=True):
        first, second = (
            transcript_of([segment_of(kept) for kept in each["segments"]], key)
            for each, key in zip((row, other), keys, strict=True)
        )
        if first.text:
            yield Pair(first.text, second.text, first.confidence, people.right(first.text, row["id"]))


class Pair(NamedTuple):
    """Two transcripts of a recording, and the confidence and correctness of the first."""

    first: str
    second: str
    confidence: float
    right: bool


def agreements(pairs: Iterable[Pair], names: MenuNames) -> dict[str, Any]:
    """Print right and wrong transcripts by the first recognizer's confidence; return the entry of
    `agreements`.

    Its rows are for confidences below `SURE`, where agreement matters: above, nearly all transcripts are
    right and would inflate the rate."""
    floor = settings().asr_threshold
    bands = {"under the floor": (0.0, floor), "between": (floor, SURE), "sure": (SURE, 1.01)}
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for pair in pairs:
        band = next(name for name, (low, high) in bands.items() if low <= pair.confidence < high)
        counts[band, same_things(pair.first, pair.second, names), pair.right] += 1
    for band in bands:
        for agreed in (True, False):
            right, wrong = counts[band, agreed, True], counts[band, agreed, False]
            print(f"{band}, {'agreed' if agreed else 'not agreed'}: {right} right, {wrong} wrong")
    rows = []
    for band in ("under the floor", "between"):
        right, wrong = (counts[band, True, good] for good in (True, False))
        rows.append([*bands[band], right + wrong, right, round((right + 1) / (right + wrong + 2), 4)])
    return {"date": datetime.now(UTC).date().isoformat(), "rows": rows}


if __name__ == "__main__":
    main()
