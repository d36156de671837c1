"""What one transcript gives reason to say, by the rules.

Made by `services/reading/order.py` from the menu and the transcript, read by `services/checks`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.cart import MAX_OPTIONS, Amount
from schemas.menu import Menu


class _Evidence(BaseModel):
    model_config = ConfigDict(frozen=True)


class Mention(_Evidence):
    """A place in the transcript that names something of the menu.

    `start` and `end` are character offsets. Several `ids` mean that the words fit each of them. `strong`
    is a full name or alias, as written or one sound off; otherwise only a part of the name was said, or the
    words make no sense here and were `guessed` at.
    """

    kind: Literal["item", "option", "size"]
    ids: tuple[str, ...]
    groups: tuple[str, ...] = ()
    start: int
    end: int
    text: str
    score: float
    strong: bool
    guessed: bool = False


class SaidNumber(_Evidence):
    """A number that counts something; `start` and `end` are character offsets."""

    value: int
    start: int
    end: int


class OptionEvidence(_Evidence):
    """One option that may be meant, with the amounts and counts that were said beside it.

    `required` leaves the model nothing to decide: it was said of this line and of no other. `either` tells
    that its words may as well belong to the line beside.
    """

    group: str
    id: str
    amounts: tuple[Amount, ...] = (Amount.NORMAL,)
    counts: tuple[int, ...] = (1,)
    required: bool = False
    either: bool = False


class LineEvidence(_Evidence):
    """One place that names an item, and all that may be said of it there.

    `heard` of its lines is a word span of `region` that holds `anchor`, and `words` the one that is written
    where a line's words need no choice. `copies` is how many lines it may
    give ("two lattes, one large, one small"); a `required` one has to be in the cart, since it was named
    whole and nothing was taken back; `stray` is one that something was asked of which it does not come with,
    or that was named in the plural without a number.
    `sizes` and `options` stand in the order of the menu and of the words;
    quantities are never empty.
    """

    items: tuple[str, ...]
    region: str
    anchor: str
    words: str = ""
    quantities: tuple[int, ...] = (1,)
    sizes: tuple[str, ...] = ()
    size_required: bool = False
    options: tuple[OptionEvidence, ...] = ()
    copies: int = 1
    required: bool = False
    stray: bool = False

    def offered(self, sku: str, menu: Menu) -> list[OptionEvidence]:
        """Its options that the item `sku` comes with."""
        item = menu.item(sku)
        groups = item.option_groups if item is not None else ()
        return [option for option in self.options if option.group in groups]

    def overfull(self, menu: Menu) -> bool:
        """Whether more options were said than a line may hold."""
        return any(len(self.offered(sku, menu)) > MAX_OPTIONS for sku in self.items)

    def settled(self, menu: Menu) -> bool:
        """Whether the words leave nothing about it open: one item, one number, one size or none, and every
        option that it can have at one amount and count."""
        options = self.offered(self.items[0], menu)
        return (
            self.required
            and not self.stray
            and len(options) <= MAX_OPTIONS
            and len(self.items) == len(self.quantities) == self.copies == 1
            and (not self.sizes or (self.size_required and len(self.sizes) == 1))
            and all(o.required and len(o.amounts) == len(o.counts) == 1 for o in options)
        )


class OffMenuEvidence(_Evidence):
    """Words that nothing on the menu accounts for: perhaps a wish, perhaps small talk."""

    words: str
    quantities: tuple[int, ...] = (1,)


class Evidence(_Evidence):
    """The transcript, the menu version it is read against, and what may be meant by it, place by place.

    `off_menu` has one entry for each place with words that nothing accounts for: a `not_on_menu` line must
    hold one of them; when empty there may be one of any words, so that there always is a way out. `numbers`
    are those said that count something, `unexplained` the words that nothing accounts for. What was said in
    a way that no rule reads is left to the model, and is a doubt: something taken back (`corrected`), shared
    or told apart (`shared`), to be like another line (`likewise`), asked about (`asked`), a choice that is
    left open (`weighed`), a name that was
    perhaps only said again (`repeated`), or more lines than a cart holds (`crowded`).
    """

    transcript: str
    menu: Menu
    menu_version: int
    lines: tuple[LineEvidence, ...] = ()
    off_menu: tuple[OffMenuEvidence, ...] = ()
    off_menu_quantities: tuple[int, ...] = (1,)
    mentions: tuple[Mention, ...] = ()
    numbers: tuple[SaidNumber, ...] = ()
    corrected: bool = False
    shared: bool = False
    unexplained: tuple[str, ...] = ()
    asked: bool = False
    weighed: bool = False
    likewise: bool = False
    repeated: str = ""
    crowded: bool = False

    @property
    def plain(self) -> bool:
        """Whether every word is accounted for and the words leave nothing about the cart open."""
        doubts = (self.corrected, self.shared, self.asked, self.weighed, self.likewise, self.crowded)
        unclear = any(doubts) or self.unexplained or self.repeated
        return not unclear and bool(self.lines) and all(line.settled(self.menu) for line in self.lines)

    @property
    def items(self) -> set[str]:
        return {sku for line in self.lines for sku in line.items}

    @property
    def sizes(self) -> set[str]:
        return {size for line in self.lines for size in line.sizes}

    @property
    def quantities(self) -> set[int]:
        off_menu = {n for off in self.off_menu for n in off.quantities}
        return {1, *off_menu, *self.off_menu_quantities, *(n for line in self.lines for n in line.quantities)}

    @property
    def options(self) -> list[OptionEvidence]:
        """Open anywhere in the order; the same option may stand for several lines."""
        return [option for line in self.lines for option in line.options]
