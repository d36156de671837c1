"""Measures the ASR confidence tables of `services/transcription/confidence.json`.

    python -m tests.bench.calibration.calibrate_asr --data DIR --model faster-whisper-base --write

DIR is described in `people.py`. A transcript is right when retrieval (`services/retrieval`) finds in it every
item, size and option of the cart, and no other: what only sounds like a name ("Americana") does not count as
wrong. Amounts ("a lot of") and numbers are not looked at. On 2 cores base takes about 1 s a recording and
level, and finished ones are kept in `--kept`, so that it can be stopped and continued.

With `--second NAME` it measures instead how often a transcript is right that names the same things as another
recognizer's (`services/transcription/second.py`), over the same recordings and noise.
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
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, besides clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="where finished transcripts are kept")
    parser.add_argument("--second", help="measure agreement with this recognizer")
    parser.add_argument("--kept-second", type=Path, help="where its finished transcripts are kept")
    parser.add_argument("--fitted", action="store_true", help="with a context of each recording's own length")
    parser.add_argument("--write", action="store_true", help="put what was measured into confidence.json")
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
    """What is kept of a recording that `one` transcribes."""
    return lambda samples: {"segments": [row_of(s) for s in one.segments(samples, "en", fitted=fitted)]}


def measured(key: str, people: People, rows: list[Row]) -> Row:
    """The table of these transcripts."""
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
    """Both recognizers' transcripts, recording by recording, where the first has words."""
    for row, other in zip(rows, others, strict=True):
        first, second = (
            transcript_of([segment_of(kept) for kept in each["segments"]], key)
            for each, key in zip((row, other), keys, strict=True)
        )
        if first.text:
            yield Pair(first.text, second.text, first.confidence, people.right(first.text, row["id"]))


class Pair(NamedTuple):
    """Both transcripts of one recording, the confidence of the first, and whether it is right."""

    first: str
    second: str
    confidence: float
    right: bool


def agreements(pairs: Iterable[Pair], names: MenuNames) -> dict[str, Any]:
    """Print right and wrong transcripts by the first recognizer's confidence; return the entry of
    `agreements`.

    Its rows are for confidences where agreement is needed, below the floor and from there to `SURE`: above
    that nearly all are right anyway, and would make agreement look better than it is."""
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
