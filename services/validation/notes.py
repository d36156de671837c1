"""Notes for the kitchen that the model left out: an allergy or a diet, and how to make or pack something,
where no name on the menu says it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from schemas.cart import MAX_NOTES, CartDraft, NoteDraft, NoteKind
from schemas.menu import Menu
from services.retrieval.retrieval import Match, Retrieval
from services.validation.allergy import with_allergy_note

_LISTED = tomllib.loads(Path(__file__).with_name("preparation.toml").read_text(encoding="utf-8"))["words"]
_NEGATED = re.compile(
    r"\b(?:not?|don['’]?t|do not|without|never|isn['’]?t|sin)(?: [\w'’]+){0,2} $", re.IGNORECASE
)
_PREPARATION = re.compile(rf"\b(?:{'|'.join(_LISTED)})\b", re.IGNORECASE)


def with_left_out(draft: CartDraft, menu: Menu, text: str, found: Retrieval) -> CartDraft:
    """Return the draft with these notes; `found` is what retrieval found in `text`."""
    draft = with_allergy_note(draft, menu, text)
    named = [one for one in found.mentions if one.match is Match.WHOLE]
    said = [
        words.group()
        for words in _PREPARATION.finditer(text)
        if not any(one.start < words.end() and words.start() < one.end for one in named)
        and not any(words.group().casefold() in note.heard.casefold() for note in draft.notes)
        and not _NEGATED.search(text[: words.start()])
    ]
    notes = (*draft.notes, *(NoteDraft(kind=NoteKind.PREPARATION, heard=words) for words in said))
    return draft.model_copy(update={"notes": notes[:MAX_NOTES]})
