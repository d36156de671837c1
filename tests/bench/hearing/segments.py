"""Segments as Whisper wrote them, kept as rows of JSON, and the transcript that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.transcript import Transcript, Word
from services.transcription.confidence import calibrated
from services.transcription.whisper import Segment, is_phantom, raw_confidence


def row_of(segment: Segment) -> dict[str, Any]:
    """A segment as a row."""
    words = [[w.text, w.start_s, w.end_s, w.probability] for w in segment.words]
    measures = [segment.avg_logprob, segment.no_speech, segment.compression]
    return {"text": segment.text, "words": words, "measures": measures}


def segment_of(row: dict[str, Any]) -> Segment:
    """The segment of a row."""
    words = tuple(Word(text=t, start_s=s, end_s=e, probability=p) for t, s, e, p in row["words"])
    return Segment(row["text"], words, *row["measures"])


def transcript_of(segments: Sequence[Segment], key: str) -> Transcript:
    """The transcript that the recognizer of this key would make of these segments."""
    words = tuple(word for one in segments if not is_phantom(one) for word in one.words)
    return Transcript(
        text=" ".join(word.text for word in words),
        confidence=calibrated(raw_confidence(list(segments)), key) if words else 0.0,
        words=words,
        source=key,
    )
