"""A transcript: text, words with times and probabilities, and one confidence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from pydantic import Field

from schemas.described import Described


class Word(Described, frozen=True):
    """One word as the recogniser wrote it; times in seconds from the start of the recording."""

    text: str
    start_s: float = Field(ge=0)
    end_s: float = Field(ge=0)
    probability: float = Field(ge=0, le=1)
    utterance: int = Field(default=0, exclude_if=lambda number: number == 0)
    """Number of the utterance, from 0, in whose recording the times are."""


class Transcript(Described, frozen=True):
    """The words of one utterance, or of all utterances of an order, joined.

    `confidence` is 0..1: for speech, the share of recordings with this mean word probability, transcribed in
    this way, that were right (measured: `services/transcription/confidence.py`), 0 when nothing was
    said; where a second recogniser agreed, the share of such orders that were right, if that is more; for a
    transcript that the caller sent, 1. `words` is empty when the text came without times.
    """

    text: str
    confidence: float = Field(ge=0, le=1)
    words: tuple[Word, ...] = ()
    language: str = "en"
    source: str = "caller"
    """Model and options, or `caller`."""
    duration_s: float | None = Field(default=None, ge=0)
    """Length of the recording."""
    with_noise: str | None = None
    """What was transcribed before, where that with the noise turned down replaced it."""
    quiet: str | None = None
    """Words said too quietly for this hearing, perhaps by another person; not in `text`."""
    second: str | None = None
    """What a second recognizer wrote; null where it was not asked."""
    agreed: bool = False
    """Whether both recognizers wrote the same words, or name the same things."""
    agreement: float | None = Field(default=None, ge=0, le=1)
    """Measured share of right orders where these two recognisers agree; null without a second."""

    starts: tuple[int, ...] = Field(default=(), exclude_if=lambda starts: not starts)
    """Where in `text` each utterance but the first begins, in characters."""

    @property
    def recogniser(self) -> str:
        """`source` without the processing of the recording (fitted, denoised)."""
        return self.source.partition("+")[0]

    @property
    def nothing_was_said(self) -> bool:
        return not self.text.strip()

    def utterance_at(self, place: int) -> int:
        """Return the number of the utterance whose text has this character."""
        return bisect_right(self.starts, place)

    def words_of(self, span: str) -> tuple[Word, ...]:
        """Return the words of the first occurrence of `span`, ignoring punctuation; empty if there is none,
        or without times."""
        tokens = r"\W+".join(re.findall(r"\w+", span))
        found = re.search(rf"\b{tokens}\b", self.text)
        words = self.words_between(*found.span()) if found else ()
        # A span may reach into the next utterance, which has times of its own.
        return tuple(word for word in words if word.utterance == words[0].utterance)

    def words_between(self, start: int, end: int) -> tuple[Word, ...]:
        """Return the words in characters [`start`, `end`) of the text; empty without times."""
        result: list[Word] = []
        at, begins = 0, (0, *self.starts)
        for word in self.words:
            text = word.text.strip()
            begin = self.text.find(text, max(at, begins[word.utterance]))
            if begin < 0:
                continue
            at = begin + len(text)
            if begin < end and at > start:
                result.append(word)
        return tuple(result)


def joined(parts: Sequence[Transcript]) -> Transcript:
    """Return the transcript of an order's utterances, at least one: a sentence each, as sure as the least
    sure. One in which nothing was said has no part in it; how each was transcribed is in the parts alone."""
    if len(parts) == 1:
        return parts[0]
    text, starts = "", list[int]()
    for part in parts:
        added = sentence(part.text)
        text = f"{text} {added}".strip()
        starts.append(len(text) - len(added))
    words = (
        word.model_copy(update={"utterance": number})
        for number, part in enumerate(parts)
        for word in part.words
    )
    spoken = [part for part in parts if not part.nothing_was_said]
    second, agreed = _second(spoken)
    return Transcript(
        text=text,
        starts=tuple(starts[1:]),
        confidence=min((part.confidence for part in spoken), default=0.0),
        words=tuple(words),
        language=parts[0].language,
        source=", ".join(dict.fromkeys(part.source for part in spoken)),
        quiet=_sentences(part.quiet for part in parts),
        second=second,
        agreed=agreed,
    )


def _second(spoken: Sequence[Transcript]) -> tuple[str | None, bool]:
    """Return the second recognizer's text of all utterances, and whether it always agreed."""
    agreed = [part.agreed for part in spoken if part.second is not None]
    text = _sentences(part.second or part.text for part in spoken) if agreed else None
    return text, bool(agreed) and all(agreed)


def _sentences(texts: Iterable[str | None]) -> str | None:
    return " ".join(sentence(text) for text in texts if text) or None


def sentence(text: str) -> str:
    """Return an utterance's text with final punctuation, so that the next begins a sentence."""
    text = text.strip(" ,;")
    return f"{text}." if text and text[-1] not in ".!?…" else text
