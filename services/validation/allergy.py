"""Words of allergy, intolerance or diet in what a customer said: a person looks at such an order.

No line of a cart says "I'm allergic to peanuts". So where these words are not simply the name of what is in
the cart ("a vegan burger"), or the trained reader took some down as a note, only a person can know what the
kitchen has to know. A needless review is better than a missed allergy: words are matched without case,
accents and punctuation, as a recognizer may write them, in English and Spanish whatever the menu's language
is.
"""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from schemas.cart import DIETARY, MAX_HEARD_CHARS, MAX_NOTES, CartDraft, ItemLine, NoteDraft, NoteKind
from schemas.menu import Menu
from schemas.priced_cart import Finding
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.writable import whole_words

CONTEXT_WORDS = 5
_PLACEHOLDERS = ("allergen", "who", "diets")


def _patterns() -> dict[str, re.Pattern[str]]:
    lists = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    whole = {name: "(?:" + "|".join(lists[name]) + ")" for name in lists}
    for name, inner in itertools.product(whole, _PLACEHOLDERS):
        whole[name] = whole[name].replace(f"<{inner}>", whole[inner])
    return {name: re.compile(rf"\b{pattern}\b") for name, pattern in whole.items()}


_PATTERNS = _patterns()
_AGAINST = _PATTERNS["against"]
_PERSONAL = _PATTERNS["always"]
_OF_THINGS = _PATTERNS["unless_named"]
_NONE = _PATTERNS["none"]


def check_allergy(draft: CartDraft, menu: Menu, transcript: Transcript) -> list[Finding]:
    """A finding that sends the order to a person, where the customer spoke of an allergy or a diet."""
    noted = next((note.heard for kind in DIETARY for note in draft.notes if note.kind is kind), None)
    words = dietary_words(transcript.text, names_in(draft, menu)) or noted
    if words is None:
        return []
    return [Finding.blocking("allergy_said", sentences(menu.language)("allergy_said", words=words))]


def with_allergy_note(draft: CartDraft, menu: Menu, text: str) -> CartDraft:
    """Return the draft with a note of each mention of allergy or diet in `text` that no note of it has: the
    kitchen gets them even if a reviewer changes nothing."""
    noted = [note for note in draft.notes if note.kind in DIETARY]
    words = _dietary(text, names_in(draft, menu), [note.heard for note in noted])
    added = [NoteDraft(kind=NoteKind.ALLERGY, heard=whole_words(one, MAX_HEARD_CHARS)) for one in words]
    others = [note for note in draft.notes if note.kind not in DIETARY]
    return draft.model_copy(update={"notes": (*noted, *added, *others)[:MAX_NOTES]}) if added else draft


def dietary_words(text: str, names: Iterable[str]) -> str | None:
    """Return the first words of allergy, intolerance or diet with those around them, or None.

    `names`: what is in the cart is called so; "a vegan burger" says no more than the name of one.
    """
    return next(iter(_dietary(text, names, ())), None)


def _dietary(text: str, names: Iterable[str], noted: Iterable[str]) -> list[str]:
    """Return each mention of allergy or diet that isn't `noted`, with the words around it."""
    spoken = list(re.finditer(r"[^\W_]+(?:['’][^\W_]+)*", text))
    folded = " ".join(_folded(word.group()) for word in spoken)
    folded = _NONE.sub(lambda found: "_" + re.sub(r"\w", "_", found.group())[1:], folded)
    places = [found.span() for found in _PERSONAL.finditer(folded)]
    places += _unnamed(folded, [_folded(name) for name in names])
    held = [(at, at + len(note)) for note in noted if (at := text.find(note)) >= 0]
    mentions, reach = list[str](), -1
    for begin, end in sorted(places):
        at, last = (folded.count(" ", 0, place) for place in (begin, end))
        start, stop = spoken[at].start(), spoken[min(last, len(spoken) - 1)].end()
        if at <= reach or any(start < upto and since < stop for since, upto in held):
            continue
        reach = min(len(spoken) - 1, at + CONTEXT_WORDS)
        mentions.append(text[spoken[max(0, at - CONTEXT_WORDS)].start() : spoken[reach].end()])
    return mentions


def allergen_in(words: str) -> str | None:
    """Return what an allergy is against ("peanuts and eggs"), where the words say so plainly."""
    found = _AGAINST.search(_folded(words))
    return found.group() if found else None


def names_in(draft: CartDraft, menu: Menu) -> Iterator[str]:
    """What the items and options of a cart are called, each once for each line that has it; by the longest
    of its names that speaks of a diet, since one thing is said by one name."""
    for line in draft.lines:
        if not isinstance(line, ItemLine):
            continue
        if (item := menu.item(line.sku)) is not None:
            yield _telling(item.name, item.aliases)
        for chosen in line.options:
            group = menu.group(chosen.group)
            for option in group.options if group is not None else ():
                if option.id == chosen.id:
                    yield _telling(option.name, option.aliases)


def _telling(name: str, aliases: Iterable[str]) -> str:
    telling = [one for one in (name, *aliases) if _OF_THINGS.search(_folded(one))]
    return max(telling, key=len, default=name)


def _unnamed(folded: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Where words of a diet stand more often than the cart has things that are called so."""
    said: Counter[str] = Counter()
    for found in _OF_THINGS.finditer(folded):
        words = found.group()
        said[words] += 1
        if said[words] > sum(words in name for name in names):
            yield found.span()


def _folded(text: str) -> str:
    """`text` as it sounds: lower case, no accents, apostrophes or hyphens."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", re.sub(r"['’]", "", plain)))
