"""Transcribe a recording: quickly if it is clear, else in full, and in doubt with the noise reduced.

A fitted pass (`Transcriber.transcribe_fitted`) counts if its confidence is high enough and the menu explains
all its words; otherwise the recording is transcribed with whole windows. If that is in doubt and there is
noise, it is transcribed with the noise reduced as well, and the transcript that the menu explains better is
used; on a tie, the first. Speech that is too quiet for these passes is transcribed separately, as a doubt
(ADR 28).
"""

from __future__ import annotations

from schemas.transcript import Transcript
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Match, retrieve
from services.transcription.ports import Recording, Transcriber


def transcribe_recording(
    recording: Recording, language: str, names: MenuNames, transcriber: Transcriber, *, floor: float
) -> Transcript:
    """Return the transcript of a recording; its `quiet` has words that were too quiet to be part of it.

    Args:
        floor: the confidence (0..1) below which a transcript is in doubt.

    Raises: as `Transcriber.transcribe`.
    """
    transcript = transcriber.transcribe_fitted(recording, language)
    if transcript is None or in_doubt(transcript, names, floor):
        transcript = _whole(recording, language, names, transcriber, floor)
    if transcript.nothing_was_said or not (quiet := transcriber.quiet_words(recording, language)):
        return transcript
    return transcript.model_copy(update={"quiet": quiet})


def _whole(
    recording: Recording, language: str, names: MenuNames, transcriber: Transcriber, floor: float
) -> Transcript:
    whole = transcriber.transcribe(recording, language)
    if whole.nothing_was_said or not in_doubt(whole, names, floor):
        return whole
    denoised = transcriber.transcribe_denoised(recording, language)
    return whole if denoised is None else clearer(whole, denoised, names)


def in_doubt(transcript: Transcript, names: MenuNames, floor: float) -> bool:
    """Return True if the confidence is below `floor`, a word is unexplained, or no item is named."""
    retrieval = retrieve(transcript.text, names)
    # A word that only sounds like an item's name doesn't count.
    named = any(name.kind == "item" for name in retrieval.names(Match.WHOLE, Match.PARTIAL))
    return transcript.confidence < floor or bool(retrieval.unexplained) or not named


def clearer(whole: Transcript, denoised: Transcript, names: MenuNames) -> Transcript:
    """Return `denoised`, with the text of `whole` as `with_noise`, if the menu explains more of it; else
    `whole`."""
    if denoised.nothing_was_said or _explained(denoised, names) <= _explained(whole, names):
        return whole
    return denoised.model_copy(update={"with_noise": whole.text})


def _explained(transcript: Transcript, names: MenuNames) -> tuple[int, int]:
    """Return a rank, higher is better: fewer unexplained words, then more whole names."""
    retrieval = retrieve(transcript.text, names)
    return -len(retrieval.unexplained), sum(mention.match is Match.WHOLE for mention in retrieval.mentions)
