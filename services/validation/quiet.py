"""Speech that was too quiet to be part of the transcript."""

from __future__ import annotations

from schemas.cart import Finding
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript


def check_quiet(transcript: Transcript) -> list[Finding]:
    """Words beside the order that were said too quietly to be heard with it: the end of it by a voice that
    drops, or somebody else in the room. Nobody but a human can tell, who listens."""
    if not transcript.quiet:
        return []
    message = sentences(transcript.language)("heard_quietly", words=transcript.quiet)
    return [Finding.blocking("heard_quietly", message)]
