"""Measures the ASR confidence tables of `services/transcription/confidence.json`.

    python -m tests.bench.hearing.calibrate_asr --data DIR --model faster-whisper-base --write

DIR is described in `people.py`. A recording was heard right when retrieval (`services/retrieval`) finds in
the transcript every item, size and option of its cart, and no other: what only sounds like a name
("Americana") does not count as wrong. Amounts ("a lot of") and numbers are not looked at. On 2 cores base
takes about 1 s a recording and level, and finished ones are kept in `--heard`, so that it can be stopped and
gone on with.

With `--second NAME` it measures instead how often an order was heard right in which both recognizers agree
(`tests/bench/hearing/agreement.py`), over the same recordings and noise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from infra.settings import settings
from services.transcription.adapted import of_name
from services.transcription.audio.audio import Samples
from services.transcription.confidence import TABLES
from services.transcription.encoded import FITTED
from services.transcription.segments import raw_confidence, transcript_of
from services.transcription.whisper import WhisperTranscriber
from tests.bench.hearing.agreement import Pair, measure
from tests.bench.hearing.people import People, Row, level, row_of, segment_of
from tests.bench.hearing.tables import as_they_come, cautious, table, write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="faster-whisper-base")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, besides clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--heard", type=Path, help="where finished hearings are kept")
    parser.add_argument("--second", help="measure agreement with this recogniser")
    parser.add_argument("--heard-second", type=Path, help="where its finished hearings are kept")
    parser.add_argument("--fitted", action="store_true", help="with a context of each recording's own length")
    parser.add_argument("--write", action="store_true", help="put what was measured into confidence.json")
    args = parser.parse_args()
    how = f"+{FITTED}" if args.fitted else ""
    people, ears = People.of(args.data, args.snr), listener(args.model, args.threads)
    rows = people.heard(hearing(ears, args.fitted), args.heard or Path(f"heard-{args.model}{how}.jsonl"))
    document = json.loads(TABLES.read_text())
    if args.second:
        second = listener(args.second, args.threads)
        kept = args.heard_second or Path(f"heard-{args.second}.jsonl")
        others = people.heard(hearing(second), kept)
        keys = ears.key("en"), second.key("en")
        found = {"data": people.about, **measure(pairs(people, rows, others, keys), people.names)}
        print(json.dumps(found))
        document["agreements"].setdefault(keys[0], {})[keys[1]] = found
    else:
        key = f"{ears.key('en')}{how}"
        document["tables"][key] = measured(key, people, rows)
        document["fallback"] = {"rows": cautious(as_they_come(document["tables"]))}
    if args.write:
        write(document)


def listener(model: str, threads: int) -> WhisperTranscriber:
    return WhisperTranscriber(of_name(model, settings().models_dir), name=model, threads=threads)


def hearing(ears: WhisperTranscriber, fitted: bool = False) -> Callable[[Samples], Row]:
    """What is kept of a recording that `ears` hear."""
    return lambda samples: {"segments": [row_of(s) for s in ears.segments(samples, "en", fitted=fitted)]}


def measured(key: str, people: People, rows: list[Row]) -> Row:
    """The table of these hearings."""
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
        print(f"{level(snr)}: {sum(at)} of {len(at)} heard right")
    found = table(key, people.about, raw, right, silent)
    confidences, means = ([row[n] for row in found["rows"]] for n in (4, 1))
    print("raw mean at 0.72:", round(float(np.interp(0.72, confidences, means)), 3))
    return found


def pairs(people: People, rows: list[Row], others: list[Row], keys: tuple[str, str]) -> Iterator[Pair]:
    """What both recognizers heard, recording by recording, where the first heard anything."""
    for row, other in zip(rows, others, strict=True):
        first, second = (
            transcript_of([segment_of(kept) for kept in each["segments"]], key)
            for each, key in zip((row, other), keys, strict=True)
        )
        if first.text:
            yield Pair(first.text, second.text, first.confidence, people.right(first.text, row["id"]))


if __name__ == "__main__":
    main()
