"""A cart prepared for tills: lines with the till's ids, prices and notes, and reasons to refuse it.

Tills are assumed to have the menu that is passed, the shop's newest version. An order that this menu no
longer allows is refused here, by the checks that every order passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
from services.validation.price import taxes_on, total_of

Body = dict[str, JsonValue]
_DRAFTED = dict.fromkeys(("kind", "sku", "quantity", "size"), True) | {
    "options": {"__all__": set(OptionDraft.model_fields)}
}
_PORTIONS = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


@dataclass(frozen=True, slots=True)
class TillOrder:
    """The request for one till."""

    body: Body
    refusals: tuple[Refusal, ...]

    @property
    def calculate(self) -> Body:
        """Return the request for the total only, which creates no order."""
        return {name: value for name, value in self.body.items() if name != "idempotency_key"}


@dataclass(frozen=True, slots=True)
class TillOption:
    """One option of an item. `portions` is 0 for "no onions" and 2 for extra; `price` is for all portions, in
    minor units. The `inner` options are for each portion."""

    ref: str | None
    group_ref: str | None
    name: str
    portions: int
    price: int
    inner: tuple[TillOption, ...] = ()

    def parts(self) -> list[tuple[int, int]]:
        """Return (portions, price of each) for portions of one price; with inner options, for each portion,
        since a till might not multiply these."""
        if not self.portions:
            return [(0, 0)]
        each, rest = divmod(self.price, self.portions)
        if self.inner:
            return [(1, each + (number < rest)) for number in range(self.portions)]
        return [(many, one) for many, one in ((self.portions - rest, each), (rest, each + 1)) if many]

    def with_inner(self) -> Iterator[TillOption]:
        yield self
        for one in self.inner:
            yield from one.with_inner()


@dataclass(frozen=True, slots=True)
class TillLine:
    """One line; prices are for one item, in minor units.

    `menu_price` is without options. `plain_price` is with options, ignoring free portions, halves, and prices
    of light and extra. `tax` is the id of the item's tax.
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
        """Return the cart's price of all options."""
        return sum(one.price for one in self.cart_line.options)

    @property
    def sold_as(self) -> str | None:
        """Return the item's id in its size, for tills with an id for each size."""
        return self.cart_line.ref if self.cart_line.size is None else self.cart_line.size_ref


@dataclass(frozen=True, slots=True)
class TillCart:
    """A cart for a till. `notes` are about the whole order, allergies first; `refusals` are every till's."""

    order_id: str
    priced: Cart
    menu: Menu
    lines: tuple[TillLine, ...]
    notes: tuple[str, ...]
    refusals: tuple[Refusal, ...]

    def order(self, body: Body, refusals: Iterator[Refusal]) -> TillOrder:
        """Return the order with this body, without nulls."""
        cleaned = json.loads(
            json.dumps(body),
            object_hook=lambda part: {key: part[key] for key in part if part[key] is not None},
        )
        return TillOrder(cleaned, (*self.refusals, *refusals))

    def refusal(self, code: str, line: int | None = None, **words: str) -> Refusal:
        say = sentences(self.menu.language)
        return Refusal(code=code, message=say(f"till_{code}", **words), line=line)

    def unknown(
        self,
        option_known: Callable[[TillOption], bool],
        line_known: Callable[[TillLine], bool] = lambda line: line.sold_as is not None,
    ) -> Iterator[Refusal]:
        """Yield a refusal for each line and option that the till doesn't know."""
        for line in self.lines:
            if not line_known(line):
                yield self.refusal("no_ref", line.index, name=line.name)
            every = (inner for one in line.options for inner in one.with_inner())
            unknown = (one for one in every if not option_known(one))
            yield from (self.refusal("no_ref", line.index, name=one.name) for one in unknown)

    def other_total(self, price: Callable[[TillLine], int], **rounding: object) -> Iterator[Refusal]:
        """Yield a refusal if the till would charge another total, by its `price` for one of a line and its
        `rounding` (fields of `Tax`)."""
        lines = [
            one.cart_line.model_copy(update={"line_total": price(one) * one.cart_line.quantity})
            for one in self.lines
        ]
        named = {tax.id for tax in self.priced.taxes}  # a newer menu may have the same tax by another id
        rules = tuple(tax.model_copy(update=rounding) for tax in self.menu.taxes if tax.id in named)
        taxes = taxes_on(lines, self.menu.model_copy(update={"taxes": rules}))
        theirs, ours, currency = total_of(lines, taxes), self.priced.total, self.priced.currency
        if theirs != ours and not self.priced.total_is_minimum:
            yield self.refusal("other_total", theirs=money(theirs, currency), ours=money(ours, currency))


def till_cart(order_id: str, cart: Cart, menu: Menu) -> TillCart:
    """Prepare a cart for a till that has this menu."""
    # The words of a line may have been erased; no check reads them.
    lines = [
        line.model_dump(include=_DRAFTED, exclude_defaults=True) | {"heard": line.name} for line in cart.lines
    ]
    draft, say = CartDraft.model_validate({"lines": lines}), sentences(menu.language)
    blocking = [finding for finding in check_facts(draft, menu) if finding.blocks]
    return TillCart(
        order_id=order_id,
        priced=cart,
        menu=menu,
        lines=tuple(
            _line(index, cart, item, drafted, menu)
            for index, drafted in enumerate(draft.lines)
            if isinstance(drafted, ItemLine) and (item := menu.item(drafted.sku)) is not None
        ),
        notes=_notes(cart, None, say),
        refusals=tuple(Refusal(code=one.code, message=one.message, line=one.line) for one in blocking),
    )


def _line(index: int, cart: Cart, item: Item, draft: ItemLine, menu: Menu) -> TillLine:
    line, groups = cart.lines[index], open_groups(draft, menu.groups_of(item))
    menu_price = (item.prices or {}).get(line.size or "", item.price or 0)
    # A till has no ids for these.
    without_id = [
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
        notes=(*_notes(cart, index, sentences(menu.language)), *without_id),
    )


def _plain(draft: ItemLine, groups: list[OptionGroup]) -> int:
    """Return the options' list price, which is all that some tills know."""
    plain_groups = []
    for group in groups:
        options = tuple(one.model_copy(update={"amount_prices": {}}) for one in group.options)
        plain_groups.append(group.model_copy(update={"free": 0, "options": options}))
    whole = [one.model_copy(update={"portion": Portion.WHOLE}) for one in draft.options]
    return sum(charges(whole, plain_groups, draft.size))


def _options(
    line: CartLine, groups: list[OptionGroup], above: tuple[str, str] | None = None, times: int = 1
) -> Iterator[TillOption]:
    """Yield the options within `above`, which is there `times` times, by default the outermost ones. Defaults
    are included, since a till leaves out what an order doesn't name."""
    for group in groups:
        if under(group.id) == above:
            defaults = kept_defaults(line, group)
            chosen = [one for one in line.options if one.group == group.id]
            options: list[tuple[CartOption | Option, int, int, int]] = [
                *((one, one.count, one.count * _PORTIONS[one.amount], one.price) for one in chosen),
                *((one, 1, 1, 0) for one in group.options if one.id in defaults),
            ]
            for one, count, portions, price in options:
                inner = tuple(_options(line, groups, (group.id, one.id), times * count))
                yield TillOption(one.ref, group.ref, one.name, portions, price // times, inner)


def _notes(cart: Cart, line: int | None, say: Sentences) -> tuple[str, ...]:
    """Return the notes about a line, or about the whole order, each with its kind."""
    about = [(say(f"note_{note.kind.value}"), note) for note in cart.notes if note.line == line]
    return tuple(
        f"{kind.upper() if note.kind in DIETARY else capitalized(kind)}: {note.text}" for kind, note in about
    )
