"""Transcribe a recording: fast where it is plain, whole otherwise, and with its noise turned down in doubt.

A fitted pass (`Transcriber.transcribe_fitted`) stands where its confidence is no doubt and the menu explains
all of its words; otherwise the recording is transcribed with the recognizer's whole context, as if there had
been no fitted pass. Where that is in doubt and there is noise, it is transcribed with the noise turned down
as well, and the transcript stands that the menu explains better; with no difference, the first. Speech that
was too quiet for any of these is transcribed by itself and kept apart, as a doubt (ADR 28).
"""

from __future__ import annotations

from schemas.transcript import Transcript
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Match, Retrieval, retrieve
from services.transcription.ports import Recording, Transcriber


def hear(
    recording: Recording, language: str, names: MenuNames, transcriber: Transcriber, *, floor: float
) -> Transcript:
    """Return the transcript of a recording; `quiet` holds what was said too quietly to be part of it.

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
    """Return true where the confidence is under `floor`, the menu doesn't explain a word, or no item is
    named."""
    found = retrieve(transcript.text, names)
    return transcript.confidence < floor or bool(found.unexplained) or not _names_an_item(found)


def clearer(whole: Transcript, denoised: Transcript, names: MenuNames) -> Transcript:
    """Return `denoised`, with the words of `whole` as `with_noise`, where the menu explains more of it;
    otherwise `whole`."""
    if denoised.nothing_was_said or _explained(denoised, names) <= _explained(whole, names):
        return whole
    return denoised.model_copy(update={"with_noise": whole.text})


def _explained(transcript: Transcript, names: MenuNames) -> tuple[int, int]:
    """Words that nothing explains, counted down, then names that were said whole: more is better."""
    found = retrieve(transcript.text, names)
    return -len(found.unexplained), sum(mention.match is Match.WHOLE for mention in found.mentions)


def _names_an_item(found: Retrieval) -> bool:
    """What only sounds like an item doesn't name it."""
    return any(name.kind == "item" for name in found.names(Match.WHOLE, Match.PARTIAL))
