"""Measure transcripts of denoised recordings, for `services/transcription/confidence.json`.

    python -m tests.bench.calibration.calibrate_denoised --data DIR [--model faster-whisper-base] [--write]

Uses the recordings and noise of `calibrate_asr.py`. As in `transcription/transcribe.py`, each mix is
transcribed, and if the transcript is doubtful and the mix noisy, again with noise reduction. The table covers
only the denoised transcripts that are preferred: choosing by the menu makes words look surer than they are.

Prints how many transcripts are right and wrong above and below the confidence threshold, with and without
denoising. Takes about 25 minutes on 2 cores; a stopped run resumes from `--kept`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from infra.settings import settings
from infra.weights.models import resolve
from schemas.transcript import Transcript
from services.retrieval.names import MenuNames
from services.transcription.audio.audio import Samples
from services.transcription.confidence import TABLES
from services.transcription.denoiser import DENOISED, Denoiser
from services.transcription.segments import raw_confidence, transcript_of
from services.transcription.transcribe import clearer, in_doubt
from services.transcription.whisper import WhisperTranscriber
from tests.bench.calibration.calibrate_asr import recognizer
from tests.bench.calibration.people import People, Row, level, row_of, segment_of
from tests.bench.calibration.tables import table, write


def transcribed(kept: list[Row], key: str) -> tuple[Transcript, float]:
    """Return the transcript of stored segments, and their raw confidence."""
    segments = [segment_of(one) for one in kept]
    return transcript_of(segments, key), raw_confidence(segments)


def both_passes(
    one: WhisperTranscriber, denoiser: Denoiser, samples: Samples, names: MenuNames, floor: float
) -> Row:
    """Transcribe a mix, and again with noise reduction if the pipeline would."""
    whole = [row_of(segment) for segment in one.segments(samples, "en")]
    first, _ = transcribed(whole, one.key("en"))
    row: Row = {"segments": whole, "denoised": None, "removed_db": None}
    if first.nothing_was_said or not in_doubt(first, names, floor):
        return row
    quieter = denoiser(samples)
    row["removed_db"] = round(quieter.removed_db, 2)
    if quieter.was_noisy:
        row["denoised"] = [row_of(segment) for segment in one.segments(quieter.samples, "en")]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="faster-whisper-base")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, in addition to clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kept", type=Path, default=Path("transcripts-denoised.jsonl"))
    parser.add_argument("--write", action="store_true", help="update confidence.json")
    args = parser.parse_args()
    config = settings()
    floor, weights = config.asr_threshold, Path(resolve(config.denoiser, config.models_dir))
    people, one = People.of(args.data, args.snr), recognizer(args.model, args.threads)
    denoiser, key = Denoiser(lambda: weights, threads=2), one.key("en")
    raw, right, without = list[float](), list[bool](), 0
    counts: Counter[str] = Counter()
    for row in people.transcribed(
        lambda mix: both_passes(one, denoiser, mix, people.names, floor), args.kept
    ):
        first, _ = transcribed(row["segments"], key)
        quieter, of_quieter = transcribed(row["denoised"] or [], f"{key}+{DENOISED}")
        taken = first if first.nothing_was_said else clearer(first, quieter, people.names)
        if taken is not first:
            raw.append(of_quieter)
            right.append(people.right(taken.text, row["id"]))
        without += first.nothing_was_said
        for how, transcript in (("as it is", first), ("denoised too", taken)):
            good = "right" if people.right(transcript.text, row["id"]) else "wrong"
            sure = "sure" if transcript.confidence >= floor else "unsure"
            counts[f"{level(row['snr'])}, {how}: {good}, {sure}"] += not transcript.nothing_was_said
    for name, count in sorted(counts.items()):
        print(name, count)
    about = f"{people.about}, where more was understood with the noise reduced"
    document = json.loads(TABLES.read_text())
    document["tables"][f"{key}+{DENOISED}"] = table(f"{key}+{DENOISED}", about, raw, right, without)
    if args.write:
        write(document)


if __name__ == "__main__":
    main()
