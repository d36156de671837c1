"""The literal cart: what an order says if every name, number and amount is taken at its word.

It is never served. It predicts the model's answer for speculative decoding
(`services/decoding/decode_cart.py`), and a lower probability is enough for a cart of the model's that equals
it (`services/validation/decide.py`). On menus that it was not made with it is the intended cart in 45% of
orders, most of which were written to be difficult.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from schemas.cart import Line, OptionLine
from schemas.menu import Item, Menu
from services.retrieval.names import Name
from services.retrieval.retrieval import Match, Mention, Number, Retrieval
from services.retrieval.words import english, words


@dataclass(slots=True)
class _Line:
    """A line, its item, and the end of the words that named the item."""

    line: Line
    item: Item
    end: int

    def fitting(self, names: Sequence[Name]) -> Name | None:
        """Return the first size or option among `names` that the item has."""
        return next((name for name in names if _has(self.item, name)), None)

    def add(self, name: Name, amount: str, count: int) -> None:
        """Set a size, or add an option that is not there yet."""
        options = self.line["options"]
        if name.kind == "size":
            self.line["size"] = name.id
        elif (name.group, name.id) not in {(option["group"], option["id"]) for option in options}:
            option: OptionLine = {"group": name.group or "", "id": name.id, "amount": amount, "count": count}
            options.append(option)


@dataclass(frozen=True, slots=True)
class _Modifier:
    """A size or option that was said before its item."""

    names: tuple[Name, ...]
    amount: str
    count: int


def literal_cart(transcript: str, retrieval: Retrieval, menu: Menu) -> list[Line]:
    """Return the literal cart of a transcript, given its `retrieval`."""
    return _Reader(transcript, retrieval, menu).read()


class _Reader:
    """Reads the mentions of an order from left to right."""

    def __init__(self, transcript: str, retrieval: Retrieval, menu: Menu) -> None:
        self._transcript, self._menu = transcript, menu
        self._mentions = _merged(retrieval.mentions)
        spans = [(m.start, m.end) for m in self._mentions if m.match is Match.WHOLE]
        self._numbers = [
            n for n in retrieval.numbers if not any(a <= n.start and n.end <= b for a, b in spans)
        ]
        self._lines: list[_Line] = []
        self._modifiers: list[_Modifier] = []
        self._number: Number | None = None
        self._end = 0  # of the previous mention

    def read(self) -> list[Line]:
        """Return the lines."""
        for place, mention in enumerate(self._mentions):
            between = (n for n in self._numbers if self._end <= n.start and n.end <= mention.start)
            self._number = next(reversed(list(between)), self._number)
            item = self._item(mention)
            if item is None or self._is_option(mention):
                self._add_modifier(mention, leads=self._leads_to_item(place))
            else:
                self._add_item(mention, item)
            self._end = mention.end
        for modifier in self._modifiers:
            self._attach(modifier)
        return [line.line for line in self._lines]

    def _item(self, mention: Mention) -> Item | None:
        names = mention.names if mention.match is Match.WHOLE else mention.names[:1]
        return next((self._menu.item(name.id) for name in names if name.kind == "item"), None)

    def _is_option(self, mention: Mention) -> bool:
        """Return True for the name of an item that the last line has as an option too, unless a number or a
        size before it begins a new line."""
        begins = self._modifiers or (self._number and self._number.start >= self._end)
        return not begins and bool(self._lines) and self._lines[-1].fitting(mention.names) is not None

    def _between(self, mention: Mention) -> str:
        return self._transcript[self._end : mention.start]

    def _add_item(self, mention: Mention, item: Item) -> None:
        last, before = self._lines[-1] if self._lines else None, self._between(mention)
        if last and last.item == item and mention.start <= last.end + 1:
            last.end = mention.end  # another word of the same name
            return
        if _amount(before) == ("none", 1):
            self._lines = [line for line in self._lines if line.item != item]
            return
        if last and last.item != item and _corrections().search(before):
            self._lines.pop()
        if mention.match is not Match.WHOLE and not self._number and self._has_line(item):
            return
        quantity, size = self._quantity(item)
        line: Line = {"kind": "item", "sku": item.sku, "quantity": quantity, "size": size, "options": []}
        self._lines.append(_Line(line, item, mention.end))
        self._add_modifiers()

    def _has_line(self, item: Item) -> bool:
        return any(line.item == item for line in self._lines)

    def _add_modifiers(self) -> None:
        """Add what was said before the last line's item; what it doesn't have is dropped."""
        modifiers, self._modifiers, line = self._modifiers, [], self._lines[-1]
        for modifier in modifiers:
            if name := line.fitting(modifier.names):
                line.add(name, modifier.amount, modifier.count)

    def _quantity(self, item: Item) -> tuple[int, str | None]:
        """Return the quantity and size that the number before an item means: "six wings" may be a size."""
        if self._number is None:
            return 1, None
        value, self._number = self._number.value, None
        if len(item.size_ids) > 1:
            for size in self._menu.sizes:
                if size.id in item.size_ids and str(value) in _stems(size.name, *size.aliases):
                    return 1, size.id
        return max(value, 1), None

    def _add_modifier(self, mention: Mention, *, leads: bool) -> None:
        amount, count = _amount(self._between(mention))
        last, number = self._lines[-1] if self._lines else None, self._number
        if last and number and number.start >= self._end and not leads and last.fitting(mention.names):
            between = self._transcript[number.end : mention.start].strip()
            if between in ("", "extra") and number.value > 1 and number.value >= last.line["quantity"]:
                count = number.value
            self._number = None
        modifier = _Modifier(mention.names, amount, count)
        if leads or not self._attach(modifier):
            self._modifiers.append(modifier)

    def _attach(self, modifier: _Modifier) -> bool:
        """Add a modifier to the last line that has it. Return True if one does."""
        for line in reversed(self._lines):
            if name := line.fitting(modifier.names):
                line.add(name, modifier.amount, modifier.count)
                return True
        return False

    def _leads_to_item(self, place: int) -> bool:
        """Return True for a modifier right before an item that has it: "large oat milk latte"."""
        names = self._mentions[place].names
        for mention, following in zip(self._mentions[place:], self._mentions[place + 1 :], strict=False):
            if self._transcript[mention.end : following.start].strip():
                return False
            if item := self._item(following):
                return any(_has(item, name) for name in names)
        return False


def _has(item: Item, name: Name) -> bool:
    return name.id in item.size_ids if name.kind == "size" else name.group in item.option_groups


def _merged(mentions: Sequence[Mention]) -> list[Mention]:
    """Return mentions that don't overlap, with adjacent words of one name as one mention."""
    merged: list[Mention] = []
    for mention in mentions:
        last = merged[-1] if merged else None
        if last and mention.start < last.end:
            continue
        merged.append(mention)
        if last is None or mention.match is not last.match or mention.match is Match.WHOLE:
            continue
        common = tuple(name for name in last.names if name in mention.names)
        if common and mention.start <= last.end + 1:
            merged[-2:] = [Mention(last.start, mention.end, last.match, common)]
    return merged


def _stems(*texts: str) -> set[str]:
    return {word.stem for text in texts for word in words(text)}


def _amount(before: str) -> tuple[str, int]:
    """Return the amount and count that the words right before an option say."""
    found = _amounts().search(before)
    amount = found.lastgroup if found else None
    return ("normal", 2) if amount == "double" else (amount or "normal", 1)


@cache
def _amounts() -> re.Pattern[str]:
    groups = "|".join(f"(?P<{amount}>{cue})" for amount, cue in english().amounts.items())
    return re.compile(rf"\b(?:{groups})(?: on)?(?: the| any| of)*\s*$", re.IGNORECASE)


@cache
def _corrections() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{english().corrections})\b", re.IGNORECASE)
