"""Ask a second recognizer, another model, where the first was not sure of a recording.

It gets only the recording: no menu names, no first transcript. Two models that write the same words, or name
the same things, are evidence; how much is measured (`docs/how-it-works.md`). If they differ, the decoder gets
both transcripts.

A fitted pass that agrees is enough; one that doesn't counts for nothing (ADR 28).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import structlog
from rapidfuzz.distance import Levenshtein

from schemas.errors import DecodeCancelled
from schemas.transcript import Transcript
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Match, Retrieval, retrieve
from services.retrieval.words import MEASURED, words
from services.transcription.ports import Recording, Transcriber

log = structlog.get_logger()

# Of 675 transcripts of real people, nearly all with at least this confidence were right.
SURE = 0.9
SURE_WORD = 0.5
"""A word of a name or number with a lower probability needs a second recognizer."""
MAX_DISTANCE = 1 / 3
"""Share of words. Of 176 pairs of transcripts of real orders with the same cart, clean and noisy, 1 differed
in more."""

# Transcripts may differ in these words. Any other may change the order ("no", "or").
_IGNORED = frozenset(
    "a an the this that these those "
    "i im id ill ive we wed well weve me my mine us our you your yours it its "
    "am is are was be been have has had having do does did can could may might will would shall should must "
    "get gets got getting give gives gimme take taking like likes want wants wanna need let lets lemme try "
    "order say said and so then also too please thanks thank hi hey hello morning afternoon evening "
    "ok okay yeah yes yep uh um uhm er erm hmm mm ah oh eh just with of in for at from here there today now"
    "".split()
)


def with_second(
    recording: Recording,
    transcript: Transcript,
    names: MenuNames,
    second: Callable[[], Transcriber | None],
    agreement: Callable[[str, str, float], float | None],
) -> Transcript:
    """Return `transcript` with the second recognizer's text, if it was asked, and whether they agree.

    It isn't asked if nothing was said, the first recognizer is certain (`is_certain`), or agreement was not
    measured in the language. Its errors are logged, and the doubt stays.

    Args:
        second: returns the recognizer, or None.
        agreement: the measured share (0..1) of right orders where two recognizers agree, by their `source`
            and the first one's confidence; None if it was not measured.
    """
    if transcript.nothing_was_said or transcript.language not in MEASURED or is_certain(transcript, names):
        return transcript
    update: dict[str, Any] = {}
    for other in _transcripts(second, recording, transcript.language):
        share = agreement(transcript.recogniser, other.recogniser, transcript.confidence)
        update = {"second": other.text, "agreement": share}
        if share is not None and same_things(transcript.text, other.text, names):
            update |= {"agreed": True, "confidence": max(transcript.confidence, share)}
            break
        if share is not None and _stems(transcript.text) == _stems(other.text):
            # The same words, but the menu doesn't explain all of them: no more confidence.
            update |= {"agreed": True}
            break
    return transcript.model_copy(update=update)


def is_certain(transcript: Transcript, names: MenuNames) -> bool:
    """Return True if the confidence is at least `SURE`, the menu explains all words, and no word of a name or
    number is less likely than `SURE_WORD`."""
    retrieval = retrieve(transcript.text, names)
    if transcript.confidence < SURE or retrieval.unexplained:
        return False
    words_of_names = (word for span in _spans(retrieval) for word in transcript.words_between(*span))
    return all(word.probability >= SURE_WORD for word in words_of_names)


def _spans(retrieval: Retrieval) -> list[tuple[int, int]]:
    """Return the spans of whole names and of numbers."""
    whole = [(mention.start, mention.end) for mention in retrieval.mentions if mention.match is Match.WHOLE]
    return whole + [(number.start, number.end) for number in retrieval.numbers]


def same_things(one: str, other: str, names: MenuNames) -> bool:
    """Return True if two transcripts name the same things in the same order, and the menu explains both.

    Misheard names must be the same word: "Americino" is not "Americano". And at most `MAX_DISTANCE` of all
    words may differ: "one hot dog now makes its way" and "one hot dog now make it to him" prove nothing,
    since the customer said "one hot dog, no, make it two".
    """
    retrievals = [retrieve(text, names) for text in (one, other)]
    if (
        any(each.unexplained or not each.mentions for each in retrievals)
        or word_distance(one, other) > MAX_DISTANCE
    ):
        return False
    return _things(one, retrievals[0]) == _things(other, retrievals[1])


def word_distance(one: str, other: str) -> float:
    """Return the share of words (0..1, of the longer transcript) that differ."""
    return float(Levenshtein.normalized_distance(_stems(one), _stems(other)))


def _stems(text: str) -> list[str]:
    return [word.stem for word in words(text)]


def _things(text: str, retrieval: Retrieval) -> list[object]:
    """Return whole names, numbers except one ("a latte" is "one latte"), and words that may change the
    order."""
    things: list[tuple[int, object]] = [
        (mention.start, mention.names) for mention in retrieval.mentions if mention.match is Match.WHOLE
    ]
    things += [(number.start, number.value) for number in retrieval.numbers if number.value != 1]
    spans = _spans(retrieval)
    things += [
        (word.start, word.stem)
        for word in words(text)
        if word.folded not in _IGNORED and not any(start <= word.start < end for start, end in spans)
    ]
    return [thing for _, thing in sorted(things, key=lambda placed: placed[0])]


def _transcripts(
    second: Callable[[], Transcriber | None], recording: Recording, language: str
) -> Iterator[Transcript]:
    """Yield its fitted transcript, if fitted passes were measured, then its whole one."""
    try:
        if (transcriber := second()) is None:
            return
        if (fitted := transcriber.transcribe_fitted(recording, language)) is not None:
            yield fitted
        yield transcriber.transcribe(recording, language)
    except DecodeCancelled:
        raise
    except Exception:
        # Missing weights, out of memory, a bad recording: the first transcript stands.
        log.warning("transcribe.second_failed", exc_info=True)
