"""How an order is put to a reader in training, and how its answer is spelled: as cart JSON, or as one line.

`json` is what the third reader learns: compact cart JSON (`services/decoding/spelling.py`), and behind the
customer's words a line with the menu's names in them. `line` is the short form of the reader that ships, kept
to compare both on the same data.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.menu import Item
from services.decoding import wire
from services.decoding.mask import Mask
from services.decoding.menu_text import messages as line_messages
from services.decoding.prompt import OR, guessed, line, messages, names_line, turn, written
from services.decoding.short_form import Line
from services.decoding.short_mask import short_mask
from services.decoding.wire_mask import wire_mask
from services.retrieval.names import MenuNames, Name
from services.retrieval.retrieval import Match, Retrieval, retrieve
from services.training.orders import Row, Shop

# How often the line of names is left out, lacks one, has a false one, or calls a sure one a guess.
UNNAMED, MISSED, FALSE, DOUBTED = 0.1, 0.15, 0.2, 0.1

Notes = Sequence[tuple[str, str]]
"""What the kitchen must know beyond the lines, as (kind, words)."""


# Orders that were written before there were notes tell of some allergies in words alone.
_ALLERGY = re.compile(r"\ballerg|\bco?eliac|\bintoleran", re.IGNORECASE)


class Unspellable(ValueError):
    """An order that can't be put to the reader so: the words of a wish are not in it, say. Orders are counted
    by `reason`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Form(Protocol):
    """One way of asking and answering."""

    def messages(self, menu_text: str, asked: str) -> list[dict[str, str]]:
        """The chat; `asked` is what `question` gave."""
        ...

    def question(self, transcript: str, shop: Shop, second: str = "") -> str:
        """What the customer's turn of the chat holds; `second` is what another recogniser heard."""
        ...

    def answer(self, lines: Sequence[Line], shop: Shop, notes: Notes = ()) -> str: ...

    def mask(self, transcript: str, shop: Shop) -> Mask: ...


class OneLine:
    """The customer's words alone, answered by a short form."""

    def messages(self, menu_text: str, asked: str) -> list[dict[str, str]]:
        return line_messages(menu_text, asked)

    def question(self, transcript: str, shop: Shop, second: str = "") -> str:  # noqa: ARG002 - as in `Form`
        return transcript

    def answer(self, lines: Sequence[Line], shop: Shop, notes: Notes = ()) -> str:  # noqa: ARG002 - as in `Form`
        return shop.names.write(lines)

    def mask(self, transcript: str, shop: Shop) -> Mask:  # noqa: ARG002 - as in `Form`
        return short_mask(shop.menu, shop.names)


class CartJson:
    """The words and the names found in them, answered by compact cart JSON."""

    def __init__(self) -> None:
        self._known: dict[str, MenuNames] = {}

    def messages(self, menu_text: str, asked: str) -> list[dict[str, str]]:
        transcript, _, rest = asked.partition("\n")
        second, _, names = rest.partition("\n") if rest.startswith(OR) else ("", "", rest)
        return messages(menu_text, transcript, names, second.removeprefix(OR))

    def question(self, transcript: str, shop: Shop, second: str = "") -> str:
        other = self.found(second, shop) if second else None
        return turn(transcript, names_line(self.found(transcript, shop), shop.names, other), second)

    def answer(self, lines: Sequence[Line], shop: Shop, notes: Notes = ()) -> str:
        return wire.write(lines, shop.names, notes)

    def mask(self, transcript: str, shop: Shop) -> Mask:
        return wire_mask(shop.names, transcript)

    def found(self, transcript: str, shop: Shop) -> Retrieval:
        """What retrieval finds in the words."""
        if shop.menu.id not in self._known:
            self._known[shop.menu.id] = MenuNames(shop.menu)
        return retrieve(transcript, self._known[shop.menu.id])


FORMS: dict[str, OneLine | CartJson] = {"json": CartJson(), "line": OneLine()}


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a menu that a training sequence shows."""

    shop: Shop
    items: Sequence[Item]

    def has(self, name: Name) -> bool:
        """Whether a name of the menu is among what is shown."""
        if name.kind == "item":
            return any(item.sku == name.id for item in self.items)
        if name.kind == "size":
            return any(name.id in item.size_ids for item in self.items)
        return any(name.group in item.option_groups for item in self.items)


def noisy_question(
    form: CartJson, transcript: str, shown: Shown, dice: random.Random, second: str = ""
) -> str:
    """The question with a line of names as it might go wrong: missing, too short, with false hits. So the
    reader leans on the line and is not led by it."""
    if dice.random() < UNNAMED:
        return turn(transcript, "", second)
    names, found = shown.shop.names, form.found(transcript, shown.shop)
    other = form.found(second, shown.shop) if second else None
    whole = list(filter(shown.has, found.names(Match.WHOLE)))
    perhaps = list(filter(shown.has, guessed(found, other)))
    _go_wrong(whole, perhaps, shown, dice)
    told = line(
        [written(name, names) for name in whole],
        [written(name, names) for name in perhaps],
        [number.value for number in found.numbers],
    )
    return turn(transcript, told, second)


def _go_wrong(whole: list[Name], perhaps: list[Name], shown: Shown, dice: random.Random) -> None:
    """Now and then lose a sure name, call one a guess, or add one that was not said."""
    if whole and dice.random() < MISSED:
        whole.remove(dice.choice(whole))
    if whole and dice.random() < DOUBTED:
        doubted = dice.choice(whole)
        whole.remove(doubted)
        perhaps.append(doubted)
    if dice.random() < FALSE:
        item = dice.choice(shown.items)
        (whole if dice.random() < 0.2 else perhaps).insert(0, Name("item", item.sku, item.name))


def with_words(row: Row, transcript: str, gone: Collection[str], shop: Shop) -> list[Line]:
    """The lines of an order with every wish off the menu in the customer's own words, as they stand in
    `transcript`. Items in `gone` are such wishes, too, since the menu that is shown does not have them.

    Raises:
        Unspellable: the words of a wish are not known, or not in the transcript.
    """
    noted = iter(row.off_menu)
    made: list[Line] = []
    for one in row.lines:
        sku = one.get("sku")
        if sku and sku not in gone:
            made.append(one)
            continue
        words = _called(sku, row.said, shop) if sku else next(noted, None)
        wish = {"kind": "not_on_menu", "quantity": one.get("quantity", 1)}
        made.append(wish | {"heard": _as_spoken(words, transcript)})
    return made


def notes_in(row: Row, transcript: str) -> list[tuple[str, str]]:
    """The notes of an order, (kind, words), as their words stand in `transcript`.

    Raises:
        Unspellable: the words of a note are not in the transcript, or an allergy is, and nobody noted it.
    """
    if not row.notes and _ALLERGY.search(row.said):
        raise Unspellable("an allergy that nobody noted")
    return [(kind, _as_spoken(words, transcript)) for kind, words in row.notes]


def _called(sku: str, transcript: str, shop: Shop) -> str | None:
    form = FORMS["json"]
    assert isinstance(form, CartJson)
    for mention in form.found(transcript, shop).mentions:
        if mention.match is Match.WHOLE and any((n.kind, n.id) == ("item", sku) for n in mention.names):
            return transcript[mention.start : mention.end]
    return None


def _as_spoken(words: str | None, transcript: str) -> str:
    """The words as the transcript has them, which may have lost case and punctuation."""
    if not words:
        raise Unspellable("nobody noted the words of a wish off the menu")
    pattern = r"[^\w]+".join(map(re.escape, re.findall(r"\w+", words)))
    found = list(re.finditer(rf"\b{pattern}\b", transcript, re.IGNORECASE))
    if not pattern or not found:
        raise Unspellable(
            "the words of a wish or note are not in what was heard", f"{words!r}, {transcript!r}"
        )
    return found[-1][0]


def read_answer(text: str, shop: Shop) -> wire.Told:
    """The lines and notes of an answer in either form. Raises Unreadable."""
    if text.lstrip().startswith("{"):
        return wire.read_cart(text, shop.names)
    return wire.Told(shop.names.read(text))
