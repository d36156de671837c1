"""What a model thinks that people may call the things of a menu: one masked call a thing.

It knows the world and not this shop: each name is a guess that staff look at. How good they were
is in ADR 67.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from pydantic import BaseModel, Field

from schemas.errors import AnswerRefused, DecodeTruncated
from schemas.menu import Item, Menu
from schemas.naming import option_key, things
from schemas.writable import writable
from services.engines.ports import Message
from services.masked.call import MaskedEngine, masked
from services.naming.sieve import MOST_CHARS, worth_showing
from services.reading.chart.tokens import Folded, folded
from services.reading.language.language import language_of

MOST_THINGS = 300
"""Of one menu: on two cores a small model takes some two seconds for each."""

Words = Annotated[
    str, Field(min_length=3, max_length=MOST_CHARS, pattern=r"^[^\W\d_]+([ '-][^\W\d_]+){0,3}$")
]


class Names(BaseModel):
    """Short names for one thing, such as customers say them."""

    names: Annotated[list[Words], Field(max_length=3)]


_PROMPT = """Customers at a counter often call a thing otherwise than the menu does: shorter, by a nickname,
by a brand, or by what it is elsewhere. You are given one thing of a menu. Answer with up to three other names
that customers say for exactly this thing. Each has one to four words. Do not repeat the menu's own name, do
not describe the thing, and do not name another thing of the menu. If there is none, answer with an
empty list."""
_SHOWN = (
    ("Shop: Corner Diner. Thing: French Fries (sides).", '{"names":["fries","chips"]}'),
    ("Shop: Corner Diner. Thing: Coca-Cola (drinks).", '{"names":["coke","cola"]}'),
    ("Shop: Corner Diner. Thing: Mayonnaise (sauces).", '{"names":["mayo"]}'),
    ("Shop: Corner Diner. Thing: Lemon Tart (desserts).", '{"names":[]}'),
)


def think_of(menu: Menu, engine: MaskedEngine, most: int = MOST_THINGS) -> list[tuple[str, str]]:
    """Thing and words of each name that is worth showing, of the first `most` things of the menu. Words that
    it gives to two things are nobody's name.

    Raises:
        as `services.masked.call.answer`, but for an answer that can't be used, which is passed over.
    """
    groups = {
        option_key(group.id, option.id): group.name
        for group in menu.option_groups
        for option in group.options
    }
    language, found = language_of(menu), list[tuple[str, str]]()
    for key, thing in things(menu)[:most]:
        sort = thing.category if isinstance(thing, Item) else groups[key]
        try:
            names = masked(Names, _asked(menu.name, thing.name, sort), engine=engine).names
        except (AnswerRefused, DecodeTruncated):
            continue
        found += [(key, words) for words in dict.fromkeys(name.lower() for name in names)]
    of = defaultdict[Folded, set[str]](set)
    for key, words in found:
        of[folded(words, language)].add(key)
    only = [(key, words) for key, words in found if len(of[folded(words, language)]) == 1]
    return [(key, words) for key, words in only if worth_showing(menu, key, words)]


def _asked(shop: str, name: str, sort: str) -> list[Message]:
    chat: list[Message] = [{"role": "system", "content": _PROMPT}]
    for said, told in _SHOWN:
        chat += [{"role": "user", "content": said}, {"role": "assistant", "content": told}]
    return [*chat, {"role": "user", "content": writable(f"Shop: {shop}. Thing: {name} ({sort}).")}]
