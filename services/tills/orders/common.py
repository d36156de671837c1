"""A cart as tills take it: lines with the till's own ids, prices and notes, and why a till would refuse it.

A till is taken to have the menu that is passed: the shop's newest version, as it is now. What that menu no
longer allows is refused here by the same checks that an order passes, so a till never has to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from pydantic import JsonValue

from schemas.cart import DIETARY, Amount, CartDraft, ItemLine, OptionDraft, Portion
from schemas.menu import Item, Menu, Option, OptionGroup
from schemas.menus.nesting import under
from schemas.priced_cart import Cart, CartLine, CartOption
from schemas.sentences.sentences import Sentences, sentences
from schemas.shops.webhook import Refusal
from schemas.wording import capitalized, money, option_name
from services.validation.charges import charges
from services.validation.facts import check_facts
from services.validation.portions import kept_defaults, open_groups

Body = dict[str, JsonValue]
_DRAFTED = dict.fromkeys(("kind", "sku", "quantity", "size"), True) | {
    "options": {"__all__": set(OptionDraft.model_fields)}
}
_PORTIONS = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


def _half_up(amount: Fraction) -> int:
    return int(amount + Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class TillOrder:
    """What one till is sent. `calculate` asks the same till for the total, and orders nothing."""

    body: Body
    calculate: Body
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

    def with_inner(self) -> Iterator[TillOption]:
        yield self
        for one in self.inner:
            yield from one.with_inner()


@dataclass(frozen=True, slots=True)
class TillLine:
    """One line; prices are those of one, in minor units.

    `menu_price` is the menu's of the item without options, and `plain_price` with all, were there no free
    portions, halves or prices of light and extra. `tax` is the menu's class.
    """

    index: int
    cart_line: CartLine
    name: str
    menu_price: int
    plain_price: int
    tax: str | None
    options: tuple[TillOption, ...]
    notes: tuple[str, ...]

    @property
    def options_price(self) -> int:
        """The cart's price of all options."""
        return sum(one.price for one in self.cart_line.options)

    @property
    def sold_as(self) -> str | None:
        """The id of the item in its size, for tills that sell each size by an id of its own."""
        return self.cart_line.ref if self.cart_line.size is None else self.cart_line.size_ref


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

    def order(self, body: Body, refusals: Iterator[Refusal], calculate: Body | None = None) -> TillOrder:
        """The order of these bodies, without their nulls."""
        return TillOrder(_without_nulls(body), _without_nulls(calculate or body), (*self.refusals, *refusals))

    def nowhere(self, location: str | None, what: str) -> Iterator[Refusal]:
        if location is None:
            yield Refusal(code="no_location", message=self.say("till_no_location", what=what))

    def without_ref(self, name: str, line: int | None = None) -> Refusal:
        return Refusal(code="no_ref", message=self.say("till_no_ref", name=name), line=line)

    def unknown(
        self,
        option_known: Callable[[TillOption], bool],
        line_known: Callable[[TillLine], bool] = lambda line: line.sold_as is not None,
    ) -> Iterator[Refusal]:
        """Refuse every line and option that the till doesn't know."""
        for line in self.lines:
            if not line_known(line):
                yield self.without_ref(line.name, line.index)
            every = (inner for one in line.options for inner in one.with_inner())
            yield from (self.without_ref(one.name, line.index) for one in every if not option_known(one))

    def other_total(
        self, price: Callable[[TillLine], int], rounded: Callable[[Fraction], int] = _half_up
    ) -> Iterator[Refusal]:
        """Refuse a total that the till would compute differently, by its `price` of one of a line."""
        theirs, ours, currency = self.total(price, rounded), self.cart.total, self.cart.currency
        if theirs != ours and not self.cart.total_is_minimum:
            amounts = {"theirs": money(theirs, currency), "ours": money(ours, currency)}
            yield Refusal(code="other_total", message=self.say("till_other_total", **amounts))

    def total(self, price: Callable[[TillLine], int], rounded: Callable[[Fraction], int]) -> int:
        """The total at these prices; each tax is rounded once, on the sum of what it is on."""
        sums: Counter[str | None] = Counter()
        for one in self.lines:
            sums[one.tax] += price(one) * one.cart_line.quantity
        added = (sums[tax.id] * Fraction(tax.rate) / 100 for tax in self.cart.taxes if not tax.included)
        return sums.total() + sum(map(rounded, added))


def till_cart(order_id: str, cart: Cart, menu: Menu) -> TillCart:
    """Prepare a cart for a till that has this menu."""
    # The words of lines may be erased, and no check reads them.
    lines = [
        line.model_dump(include=_DRAFTED, exclude_defaults=True) | {"heard": line.name} for line in cart.lines
    ]
    draft, say = CartDraft.model_validate({"lines": lines}), sentences(menu.language)
    refused = [found for found in check_facts(draft, menu) if found.blocks]
    return TillCart(
        order_id=order_id,
        cart=cart,
        lines=tuple(
            _line(index, cart, item, drafted, menu)
            for index, drafted in enumerate(draft.lines)
            if isinstance(drafted, ItemLine) and (item := menu.item(drafted.sku)) is not None
        ),
        notes=_notes(cart, None, say),
        refusals=tuple(Refusal(code=one.code, message=one.message, line=one.line) for one in refused),
        say=say,
    )


def _line(index: int, cart: Cart, item: Item, draft: ItemLine, menu: Menu) -> TillLine:
    line, groups = cart.lines[index], open_groups(draft, menu.groups_of(item))
    menu_price = (item.prices or {}).get(line.size or "", item.price or 0)
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
        menu_price=menu_price,
        plain_price=menu_price + _plain(draft, groups),
        tax=item.tax,
        options=tuple(_options(line, groups)),
        notes=(*_notes(cart, index, sentences(menu.language)), *unsaid),
    )


def _plain(draft: ItemLine, groups: list[OptionGroup]) -> int:
    """The options' price by the menu's list, which is all that some tills have."""
    listed = []
    for group in groups:
        options = tuple(one.model_copy(update={"amount_prices": {}}) for one in group.options)
        listed.append(group.model_copy(update={"free": 0, "options": options}))
    whole = [one.model_copy(update={"portion": Portion.WHOLE}) for one in draft.options]
    return sum(charges(whole, listed, draft.size))


def _options(
    line: CartLine, groups: list[OptionGroup], above: tuple[str, str] | None = None, times: int = 1
) -> Iterator[TillOption]:
    """The options under one that is there so many `times`, or under none; defaults as well, since a till
    leaves out what an order doesn't name."""
    for group in groups:
        if under(group.id) == above:
            kept = kept_defaults(line, group)
            chosen = [one for one in line.options if one.group == group.id]
            had: list[tuple[CartOption | Option, int, int, int]] = [
                *((one, one.count, one.count * _PORTIONS[one.amount], one.price) for one in chosen),
                *((one, 1, 1, 0) for one in group.options if one.id in kept),
            ]
            for one, count, portions, price in had:
                inner = tuple(_options(line, groups, (group.id, one.id), times * count))
                yield TillOption(one.ref, group.ref, one.name, portions, price // times, inner)


def _notes(cart: Cart, line: int | None, say: Sentences) -> tuple[str, ...]:
    """The notes about a line, or about the whole order, each after its kind."""
    about = [(say(f"note_{note.kind.value}"), note) for note in cart.notes if note.line == line]
    return tuple(
        f"{kind.upper() if note.kind in DIETARY else capitalized(kind)}: {note.text}" for kind, note in about
    )


def _without_nulls(body: Body) -> Body:
    def kept(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [kept(one) for one in value]
        return _without_nulls(value) if isinstance(value, dict) else value

    return {name: kept(value) for name, value in body.items() if value is not None}
