"""A cart as tills take it: lines with the till's own ids, prices and notes, and why a till would refuse it.

A till is taken to have the menu that is passed: the shop's newest version, as it is now. What that menu no
longer allows is refused here by the same checks that an order passes, so a till never has to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from pydantic import BaseModel

from schemas.cart import (
    DIETARY,
    Amount,
    Cart,
    CartDraft,
    CartLine,
    CartNote,
    CartOption,
    ItemLine,
    NotOnMenuLine,
    OptionDraft,
    Portion,
)
from schemas.menu import Item, Menu, OptionGroup
from schemas.menus.nesting import under
from schemas.sentences.sentences import Sentences, sentences
from schemas.shops.webhook import Refusal
from schemas.wording import capitalized, money, option_name
from services.validation.charges import charges
from services.validation.facts import check_facts
from services.validation.portions import kept_defaults, open_groups

_PORTIONS = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


@dataclass(frozen=True, slots=True)
class TillOrder:
    """What one till is sent. `calculate` asks the same till for the total, and orders nothing."""

    body: BaseModel
    calculate: BaseModel
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class TillOption:
    """One option. `portions` is 0 for "no onions" and 2 for extra; `price` is the cart's for all of them on
    one item, in minor units. What is inside it, `inner`, is for each portion."""

    ref: str | None
    group_ref: str | None
    name: str
    portions: int
    price: int
    inner: tuple[TillOption, ...] = ()

    def parts(self) -> list[tuple[int, int]]:
        """Portions and what each costs: a till multiplies, and a price may not divide. One by one where a
        till might not multiply what is inside."""
        if not self.portions:
            return [(0, 0)]
        each, over = divmod(self.price, self.portions)
        if self.inner:
            return [(1, each + (number < over)) for number in range(self.portions)]
        return [(many, one) for many, one in ((self.portions - over, each), (over, each + 1)) if many]


@dataclass(frozen=True, slots=True)
class TillLine:
    """One line; prices are those of one, in minor units.

    `options_price` is the cart's for all options, `menu_price` the menu's of the item without any, and
    `plain_price` the menu's with all, were there no free portions, halves or prices of light and extra.
    `tax` is the menu's class.
    """

    index: int
    cart_line: CartLine
    name: str
    options_price: int
    menu_price: int
    plain_price: int
    tax: str | None
    options: tuple[TillOption, ...]
    notes: tuple[str, ...]

    @property
    def sold_as(self) -> str | None:
        """The id of the item in its size, for tills that sell each size by an id of its own."""
        return self.cart_line.ref if self.cart_line.size is None else self.cart_line.size_ref

    def every_option(self) -> Iterator[TillOption]:
        """The options, those inside others too."""
        waiting = [*self.options]
        while waiting:
            one = waiting.pop(0)
            waiting[:0] = one.inner
            yield one


@dataclass(frozen=True, slots=True)
class TillCart:
    """A cart for a till. `notes` are about the whole order, allergies first; `refusals` those that every
    till has."""

    order_id: str
    cart: Cart
    lines: tuple[TillLine, ...]
    notes: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    say: Sentences

    def without_ref(self, line: TillLine | None, name: str) -> Refusal:
        index = line.index if line else None
        return Refusal(code="no_ref", message=self.say("till_no_ref", name=name), line=index)

    def other_total(self, price: Callable[[TillLine], int], *, half_even: bool = False) -> Iterator[Refusal]:
        """Refuse a total that the till would compute differently, by its `price` of one of a line."""
        theirs, ours, currency = self.total(price, half_even=half_even), self.cart.total, self.cart.currency
        if theirs != ours and not self.cart.total_is_minimum:
            amounts = {"theirs": money(theirs, currency), "ours": money(ours, currency)}
            yield Refusal(code="other_total", message=self.say("till_other_total", **amounts))

    def total(self, price: Callable[[TillLine], int], *, half_even: bool) -> int:
        """The total at these prices; each tax is rounded once, on the sum of what it is on."""
        sums: Counter[str | None] = Counter()
        for one in self.lines:
            sums[one.tax] += price(one) * one.cart_line.quantity
        added = [sums[tax.id] * Fraction(tax.rate) / 100 for tax in self.cart.taxes if not tax.included]
        half_up = [int(tax + Fraction(1, 2)) for tax in added]
        return sums.total() + sum(map(round, added) if half_even else half_up)


def till_cart(order_id: str, cart: Cart, menu: Menu) -> TillCart:
    """Prepare a cart for a till that has this menu."""
    draft = CartDraft(lines=tuple(map(_draft, cart.lines)))
    say = sentences(menu.language)
    refusals = tuple(
        Refusal(code=found.code, message=found.message, line=found.line)
        for found in check_facts(draft, menu)
        if found.blocks
    )
    lines = tuple(
        _line(index, cart, item, drafted, menu)
        for index, drafted in enumerate(draft.lines)
        if isinstance(drafted, ItemLine) and (item := menu.item(drafted.sku)) is not None
    )
    whole = tuple(_note(note, say) for note in cart.notes if note.line is None)
    return TillCart(order_id, cart, lines, whole, refusals, say)


def _draft(line: CartLine) -> ItemLine | NotOnMenuLine:
    """The line as a draft. Its words may be erased, and no check reads them."""
    if line.sku is None:
        return NotOnMenuLine(kind="not_on_menu", heard=line.name, quantity=line.quantity)
    options = (one.model_dump(include=set(OptionDraft.model_fields)) for one in line.options)
    return ItemLine(
        kind="item",
        heard=line.name,
        sku=line.sku,
        quantity=line.quantity,
        size=line.size,
        options=tuple(map(OptionDraft.model_validate, options)),
    )


def _line(index: int, cart: Cart, item: Item, draft: ItemLine, menu: Menu) -> TillLine:
    line, groups = cart.lines[index], open_groups(draft, menu.groups_of(item))
    menu_price = (item.prices or {}).get(line.size or "", item.price or 0)
    own = [_note(note, sentences(menu.language)) for note in cart.notes if note.line == index]
    # What a till's ids can't say.
    unsaid = [
        option_name(one, menu.language)
        for one in line.options
        if one.amount in (Amount.NONE, Amount.LIGHT) or one.portion is not Portion.WHOLE
    ]
    return TillLine(
        index=index,
        cart_line=line,
        name=" ".join(filter(None, (line.size_name, line.name))),
        options_price=sum(one.price for one in line.options),
        menu_price=menu_price,
        plain_price=menu_price + _plain(draft, groups),
        tax=item.tax,
        options=tuple(_inside(None, [*line.options, *_defaults(draft, groups)], groups)),
        notes=(*own, *unsaid),
    )


def _plain(draft: ItemLine, groups: list[OptionGroup]) -> int:
    """The options' price by the menu's list, which is all that some tills have."""
    listed = [
        group.model_copy(
            update={
                "free": 0,
                "options": tuple(one.model_copy(update={"amount_prices": {}}) for one in group.options),
            }
        )
        for group in groups
    ]
    whole = [one.model_copy(update={"portion": Portion.WHOLE}) for one in draft.options]
    return sum(charges(whole, listed, draft.size))


def _defaults(draft: ItemLine, groups: list[OptionGroup]) -> Iterator[CartOption]:
    """Options that come with the item: a till leaves out what an order doesn't name."""
    for group in groups:
        kept = kept_defaults(draft, group)
        for one in group.options:
            if one.id in kept:
                yield CartOption(
                    group=group.id,
                    id=one.id,
                    name=one.name,
                    amount=Amount.NORMAL,
                    count=1,
                    price=0,
                    ref=one.ref,
                )


def _inside(
    above: tuple[str, str] | None, options: list[CartOption], groups: list[OptionGroup], times: int = 1
) -> Iterator[TillOption]:
    """The options under one, or under none; `times` is how often that one is there."""
    refs = {group.id: group.ref for group in groups}
    for one in options:
        if under(one.group) == above:
            yield TillOption(
                ref=one.ref,
                group_ref=refs.get(one.group),
                name=one.name,
                portions=one.count * _PORTIONS[one.amount],
                price=one.price // times,
                inner=tuple(_inside((one.group, one.id), options, groups, times * one.count)),
            )


def _note(note: CartNote, say: Sentences) -> str:
    kind = say(f"note_{note.kind.value}")
    return f"{kind.upper() if note.kind in DIETARY else capitalized(kind)}: {note.text}"
