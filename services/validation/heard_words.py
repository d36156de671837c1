"""The customer's own words for each line of a cart that was read without them, and where words stand.

From the first to the last word that the line rests on; where none names its item, all that was said, as far
as a line may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schemas.cart import DIETARY, MAX_HEARD_CHARS, CartDraft, CartNote, HeardSpan, NoteDraft, NoteKind
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.retrieval.retrieval import Retrieval
from services.validation.alignment import align


def with_heard(
    lines: Sequence[Mapping[str, Any]],
    transcript: str,
    found: Retrieval,
    notes: Iterable[tuple[str, str]] = (),
) -> CartDraft:
    """A draft of `lines`, each with a piece of the transcript; `found` is what retrieval found in it. The
    words of a wish off the menu, and of `notes` (kind, words), are pieces of it already."""
    made = []
    for line, span in zip(lines, align(lines, found), strict=True):
        words = transcript[slice(*span)] if span else line.get("heard") or transcript
        made.append({**line, "heard": whole_words(words, MAX_HEARD_CHARS)})
    noted = [{"kind": kind, "heard": words} for kind, words in notes]
    return CartDraft.model_validate({"lines": made, "notes": noted})


def span_of(words: str, transcript: Transcript) -> HeardSpan:
    """The words with the time when they were said, where they stand in the transcript like this."""
    said = transcript.words_of(words)
    return HeardSpan(
        text=words,
        start_s=said[0].start_s if said else None,
        end_s=said[-1].end_s if said else None,
    )


def notes_of(draft: CartDraft, transcript: Transcript) -> list[CartNote]:
    """The notes of a draft as its cart has them: allergies first, each with the line that it follows."""
    lines = _places((line.heard for line in draft.lines), transcript.text)
    notes = zip(draft.notes, _places((note.heard for note in draft.notes), transcript.text), strict=True)
    return [
        CartNote(
            **span_of(note.heard, transcript).model_dump(), kind=note.kind, line=_line_of(note, place, lines)
        )
        for note, place in sorted(notes, key=lambda placed: list(NoteKind).index(placed[0].kind))
    ]


def _line_of(note: NoteDraft, place: int, lines: list[int]) -> int | None:
    """The index of the line whose words begin last before the note's; None where there is none, and of what
    is about the whole order."""
    before = [index for index, start in enumerate(lines) if 0 <= start <= place]
    if note.kind in DIETARY or not before:
        return None
    return max(before, key=lines.__getitem__)


def _places(pieces: Iterable[str], text: str) -> list[int]:
    """Where each piece begins in `text`, -1 where it does not stand there; the same piece again is looked for
    behind the first, and stands with it where there is no other."""
    places: dict[str, int] = {}
    found = []
    for piece in pieces:
        again = text.find(piece, places[piece] + 1) if places.get(piece, -1) >= 0 else text.find(piece)
        places[piece] = again if again >= 0 else places.get(piece, -1)
        found.append(places[piece])
    return found
