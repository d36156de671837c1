"""Allergies and diets in an order: a note for the kitchen, and a finding that sends the order to a person.

No line of a cart says "I'm allergic to peanuts". So unless the words are only the name of what is in the
cart ("a vegan burger"), a person decides what the kitchen has to know: an unnecessary review is better than
a missed allergy. A shop may accept what a note tells the kitchen; a question always needs a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemas.cart import DIETARY, MAX_HEARD_CHARS, MAX_NOTES, CartDraft, ItemLine, NoteDraft, NoteKind
from schemas.menu import Menu
from schemas.priced_cart import Finding
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.validation.dietary import asks_of_dish, mentions, telling_name


def check_allergy(
    draft: CartDraft,
    menu: Menu,
    transcript: Transcript,
    unused: Sequence[str] = (),
    *,
    accepted: bool = False,
) -> list[Finding]:
    """Return a finding if the customer or the draft's notes spoke of an allergy or a diet. It blocks, unless
    the shop has `accepted` them, the notes of an order with an item cover all, and nothing was asked. A word
    that is `unused` may belong to the allergy, so the notes don't cover all."""
    notes = [note.heard for kind in DIETARY for note in draft.notes if note.kind is kind]
    text, names, say = transcript.text, list(names_in(draft, menu)), sentences(menu.language)
    found = [*mentions(text, names), *notes]
    if not found:
        return []
    covered = bool(names) and not mentions(text, names, notes) and not asks_of_dish(text)
    if accepted and covered and not unused:
        return [Finding.info("allergy_said", say("allergy_noted", words=found[0]))]
    return [Finding.blocking("allergy_said", say("allergy_said", words=found[0]))]


def with_allergy_note(draft: CartDraft, menu: Menu, text: str) -> CartDraft:
    """Return the draft with a note of each mention in `text` that no note of it covers: the kitchen gets
    them even if a reviewer changes nothing."""
    noted = [note for note in draft.notes if note.kind in DIETARY]
    words = mentions(text, names_in(draft, menu), [note.heard for note in noted])
    added = [NoteDraft(kind=NoteKind.ALLERGY, heard=whole_words(one, MAX_HEARD_CHARS)) for one in words]
    others = [note for note in draft.notes if note.kind not in DIETARY]
    return draft.model_copy(update={"notes": (*noted, *added, *others)[:MAX_NOTES]}) if added else draft


def names_in(draft: CartDraft, menu: Menu) -> Iterator[str]:
    """Yield the name of each item and option of a cart, as often as a line has it."""
    for line in draft.lines:
        if not isinstance(line, ItemLine):
            continue
        if (item := menu.item(line.sku)) is not None:
            yield telling_name(item.name, item.aliases)
        for chosen in line.options:
            group = menu.group(chosen.group)
            for option in group.options if group is not None else ():
                if option.id == chosen.id:
                    yield telling_name(option.name, option.aliases)
