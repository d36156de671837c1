"""A recognizer's segments, and the transcript built from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.transcript import Transcript, Word
from services.transcription.confidence import calibrated

# Measured with base and tiny.en on 139 human orders, silence, noise, hum, clicks, tunes and babble. What
# passes the voice detector of these mostly becomes loops. All segments of a window of 30 s share these
# measures, so an order within one window is kept or dropped as a whole.
MAX_COMPRESSION = 2.4
"""Clean orders reach 1.13, noisy but right ones 2.36; loops ("I'm sorry, I'm sorry, ...") 2.44 to 13."""
MAX_NO_SPEECH, LIKELY_SPEECH = 0.6, -0.7
"""Orders of common names reach 0.16 clean and 0.44 in noise; text written for noise and hums has 0.7 to 0.92.
But so does a correct list of unusual dishes: 0.84, with an average log probability of -0.44. Text for noise
that isn't a loop is at -0.82 or below, so a segment is dropped only if both measures say so."""
MIN_LOG_PROB = -1.0
"""Of 435 right transcripts, one is below (-1.05, at 0 dB), the next at -0.89; speech played backward is at
-0.8 to -1.3. Babble and "Thank you very much." at -0.9 pass, with a low confidence."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The recognizer's text for one stretch of speech, with its own three measures of certainty."""

    text: str
    words: tuple[Word, ...]
    avg_logprob: float
    no_speech: float
    compression: float


def is_phantom(segment: Segment) -> bool:
    """Return True if a segment is noise or a loop rather than speech."""
    return (
        segment.compression > MAX_COMPRESSION
        or (segment.no_speech > MAX_NO_SPEECH and segment.avg_logprob < LIKELY_SPEECH)
        or segment.avg_logprob < MIN_LOG_PROB
    )


def raw_confidence(segments: Sequence[Segment]) -> float:
    """Return the mean probability (0..1) of the words; 0 without words.

    A dropped phantom counts as one word of probability 0: it may have been speech, and the rest a plausible
    shorter order. A segment without words counts as one word, by its log probability.
    """
    values: list[float] = []
    for segment in segments:
        if is_phantom(segment):
            values.append(0.0)
        else:
            certainty = math.exp(min(0.0, segment.avg_logprob))
            values += [word.probability for word in segment.words] or [certainty]
    return sum(values) / len(values) if values else 0.0


def transcript_of(
    segments: Sequence[Segment], key: str, language: str = "en", duration_s: float | None = None
) -> Transcript:
    """Build the transcript of segments, with the confidence table of `key`."""
    speech = [segment for segment in segments if not is_phantom(segment)]
    # From the words' own texts, so that every span of the text is a run of words with times.
    text = " ".join(
        " ".join(word.text for word in segment.words) or " ".join(segment.text.split()) for segment in speech
    ).strip()
    return Transcript(
        text=text,
        confidence=calibrated(raw_confidence(segments), key) if text else 0.0,
        words=tuple(word for segment in speech for word in segment.words),
        language=language,
        source=key,
        duration_s=duration_s,
    )
