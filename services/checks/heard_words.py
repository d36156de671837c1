"""The customer's own words for each line of a cart that was read without them, and where words stand.

Where the rules found the line's item, their words for it; else the words of the item's name, or of a wish
that nothing on the menu accounts for; else all that was said, as far as a line may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.cart import DIETARY, MAX_HEARD_CHARS, CartDraft, CartNote, HeardSpan, NoteDraft, NoteKind
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.reading.language.language import language_of
from services.reading.whole.own_words import own_words


def with_heard(
    lines: Iterable[dict[str, Any]], evidence: Evidence, notes: Iterable[tuple[str, str]] = ()
) -> CartDraft:
    """A draft of `lines`, each with a piece of the transcript; no piece twice while there is another. The
    words of `notes` (kind, words) are pieces of it already."""
    used: set[str] = set()
    made = []
    for line in lines:
        sku = line.get("sku")
        words = _item_words(sku, evidence) if sku else [off.words for off in evidence.off_menu]
        fitting = [w for w in words if w and len(w) <= MAX_HEARD_CHARS]
        heard = next((w for w in fitting if w not in used), None) or next(iter(fitting), None)
        heard = heard or whole_words(evidence.transcript, MAX_HEARD_CHARS)
        used.add(heard)
        made.append({**line, "heard": heard})
    noted = [{"kind": kind, "heard": words} for kind, words in notes]
    return CartDraft.model_validate({"lines": made, "notes": noted})


def _item_words(sku: str, evidence: Evidence) -> list[str]:
    told = [line for line in evidence.lines if sku in line.items]
    words = [line.words or own_words(line, language_of(evidence.menu)) or line.anchor for line in told]
    return words + [mention.text for mention in evidence.mentions if sku in mention.ids]


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
