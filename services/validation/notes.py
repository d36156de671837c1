"""Add kitchen notes that the model left out: allergies, diets, and how to make or pack something."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from schemas.cart import MAX_NOTES, CartDraft, NoteDraft, NoteKind
from schemas.menu import Menu
from services.retrieval.retrieval import Match, Retrieval
from services.validation.allergy import with_allergy_note

_PREPARATION_WORDS = tomllib.loads(Path(__file__).with_name("preparation.toml").read_text(encoding="utf-8"))[
    "words"
]
_NEGATED = re.compile(
    r"\b(?:not?|don['’]?t|do not|without|never|isn['’]?t|sin)(?: [\w'’]+){0,2} $", re.IGNORECASE
)
_PREPARATION = re.compile(rf"\b(?:{'|'.join(_PREPARATION_WORDS)})\b", re.IGNORECASE)


def with_left_out(draft: CartDraft, menu: Menu, text: str, retrieval: Retrieval) -> CartDraft:
    """Return the draft with the notes that `text` calls for; no name on the menu may say the same."""
    draft = with_allergy_note(draft, menu, text)
    named = [mention for mention in retrieval.mentions if mention.match is Match.WHOLE]
    instructions = [
        words.group()
        for words in _PREPARATION.finditer(text)
        if not any(name.start < words.end() and words.start() < name.end for name in named)
        and not any(words.group().casefold() in note.heard.casefold() for note in draft.notes)
        and not _NEGATED.search(text[: words.start()])
    ]
    notes = (*draft.notes, *(NoteDraft(kind=NoteKind.PREPARATION, heard=words) for words in instructions))
    return draft.model_copy(update={"notes": notes[:MAX_NOTES]})
