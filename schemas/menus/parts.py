"""The parts of a menu document: sizes, options and their groups, items, taxes.

Fields of the second edition are omitted at their default, so that menus of the first stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    model_validator,
)

from schemas.menus.hours import MAX_ENTRIES, Offered
from schemas.writable import only_printed, printed

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")]
Name = Annotated[str, *printed(80)]
Money = Annotated[int, Field(ge=0, le=100_000_00, description="minor units of the menu's currency")]
Text = Annotated[str, *printed(500)]

T = TypeVar("T")
_Optional = Annotated[T | None, Field(exclude_if=lambda value: value is None)]
_Filled = Annotated[T, Field(exclude_if=lambda value: not value)]

TillId = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(only_printed)]
Ref = _Optional[TillId]
"""The till's own id: opaque, and carried to the cart."""

Image = Annotated[
    str,
    StringConstraints(max_length=2000, pattern=r"^https://[^\s/\\]+(/[^\s\\]*)?$"),
    AfterValidator(only_printed),
]


def _rate(given: Any) -> Any:
    """Check that a rate is basis points as an integer, or a percentage in quotes."""
    points = type(given) is int and 0 <= given <= 10_000
    written = isinstance(given, str) and re.fullmatch(r"\d{1,2}(\.\d{1,5})?|100", given, re.ASCII)
    if not (points or written):
        raise ValueError('must be basis points (875) or a percentage in quotes ("8.75")')
    return given


class Part(BaseModel, extra="forbid", frozen=True):
    """Something with a model of its own in a menu; unknown fields are refused."""


class Tax(Part):
    """A class of tax that items name. Where prices have it `included` the cart names it, else it is added."""

    id: Id
    name: Name
    rate: Annotated[int | str, BeforeValidator(_rate)] = Field(
        description="basis points (875 is 8.75%), or a percentage as text with up to 5 decimals"
    )
    included: bool = False
    rounding: Literal["half_up", "half_even", "up", "down"] = Field(
        default="half_up",
        description="to the nearest minor unit, half of one up or to the even one; or always up or down",
        exclude_if=lambda rounding: rounding == "half_up",
    )
    per_line: _Filled[bool] = Field(
        default=False, description="whether each line's tax is rounded, as Toast does, or only their sum"
    )
    ref: Ref = None

    def on(self, prices: Sequence[int]) -> int:
        """Return the tax on lines with these prices, in minor units."""
        rate, rounding = Decimal(self.percent), f"ROUND_{self.rounding.upper()}"
        whole = 100 + rate if self.included else 100
        taxed = prices if self.per_line else [sum(prices)]
        return sum(int((price * rate / whole).quantize(Decimal(1), rounding)) for price in taxed)

    @property
    def percent(self) -> str:
        """The rate as people write it: `8.75`."""
        rate = Decimal(self.rate) / 100 if isinstance(self.rate, int) else Decimal(self.rate)
        return f"{rate.normalize():f}"


class Size(Part):
    """One size that items may be priced in."""

    id: Id
    name: Name
    aliases: tuple[Name, ...] = ()
    ref: Ref = None


class Option(Offered):
    """One choice of a group. `price` is added for each portion; `prices` for an item in one of these sizes,
    and `amount_prices` where the option was wanted so, in place of nothing, once or twice that.

    Its `option_groups` are open while it is chosen; or it is an `item` of the menu, whose sizes and groups
    are.
    """

    id: Id
    name: Name
    aliases: tuple[Name, ...] = ()
    price: Money = 0
    available: bool = True
    prices: _Filled[dict[Id, Money]] = Field(default_factory=dict)
    amount_prices: _Filled[dict[Literal["none", "light", "extra"], Money]] = Field(default_factory=dict)
    option_groups: _Filled[tuple[Id, ...]] = ()
    item: _Optional[Id] = None
    ref: Ref = None

    def price_in(self, size: str | None) -> int:
        """Return the price of one portion on an item in this size."""
        return self.prices.get(size, self.price) if size is not None else self.price


class OptionGroup(Part):
    """A set of options, and how many of them an item may have.

    `min` and `max` count portions of all its options together, `max_each` those of one. `choose` is
    shorthand: `one` for one option, however often, and `many` for any number; so is `required` for a `min`
    of 1. Groups with `halves` may be wanted on one half of the item only, as toppings of a pizza are; the
    half that has more is counted.

    `defaults` are on the item unless the customer says otherwise, and cost nothing once. Where one option
    excludes the others, another that is chosen takes the default's place. Of the other portions as many as
    `free` says cost nothing: the cheapest, whatever was said first, since carts with the same options must
    cost the same.
    """

    id: Id
    name: Name
    choose: Literal["one", "many"] = "one"
    required: bool = False
    halves: bool = False
    min: _Optional[Annotated[int, Field(ge=0, le=12)]] = None
    max: _Optional[Annotated[int, Field(ge=1, le=99)]] = None
    max_each: _Optional[Annotated[int, Field(ge=1, le=12)]] = None
    free: _Filled[Annotated[int, Field(ge=0, le=99)]] = 0
    defaults: _Filled[tuple[Id, ...]] = ()
    options: tuple[Option, ...] = Field(min_length=1)
    ref: Ref = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        """Derive `choose` and `required` from the counts if missing."""
        if not isinstance(value, Mapping):
            return value
        filled = dict(value)
        if filled.get("max") is not None or filled.get("min") is not None:
            filled.setdefault("choose", "one" if filled.get("max") == 1 else "many")
        if isinstance(least := filled.get("min"), int):
            filled.setdefault("required", least > 0)
        return filled

    @property
    def least(self) -> int:
        """The number of portions that an item must have."""
        return int(self.required) if self.min is None else self.min


class OptionOverride(Part):
    """What differs for an option on one item: its price there in every size, whether it comes by default, and
    whether it can be had."""

    group: Id
    option: Id
    price: Money | None = None
    default: bool | None = None
    available: bool | None = None

    def __str__(self) -> str:
        own = self.model_dump(include={"price", "default", "available"}, exclude_none=True)
        return f"{self.group}/{self.option}: {', '.join(f'{name} {value}' for name, value in own.items())}"

    def applied(self, option: Option) -> Option:
        """Return the option with this override."""
        if self.price is not None:
            option = option.model_copy(update={"price": self.price, "prices": {}})
        if self.available is not None:
            option = option.model_copy(update={"available": self.available and option.available})
        return option


class Item(Offered):
    """One thing on the menu, priced either by `price` or by `prices` per size.

    `default_size` is what an order without a size gets, with a finding; without it the order is asked
    about, unless every size costs the same. `number` is what it is called by on the board. `size_refs` are
    the till's own ids of its sizes, where they aren't the same for all items.
    """

    sku: Id
    name: Name
    category: Name = "other"
    aliases: tuple[Name, ...] = ()
    price: Money | None = None
    prices: dict[Id, Money] | None = None
    default_size: Id | None = None
    option_groups: tuple[Id, ...] = ()
    available: bool = True
    max_quantity: int = Field(default=20, ge=1, le=999)
    kind: Annotated[Literal["item", "meal"], Field(exclude_if=lambda kind: kind == "item")] = "item"
    number: _Optional[Annotated[int, Field(ge=1, le=999)]] = None
    description: _Optional[Text] = None
    image: _Optional[Image] = None
    allergens: _Filled[Annotated[tuple[Name, ...], Field(max_length=MAX_ENTRIES)]] = ()
    diet: _Filled[Annotated[tuple[Name, ...], Field(max_length=MAX_ENTRIES)]] = ()
    tax: _Optional[Id] = None
    option_overrides: _Filled[tuple[OptionOverride, ...]] = ()
    ref: Ref = None
    size_refs: _Filled[dict[Id, TillId]] = Field(default_factory=dict)

    @property
    def size_ids(self) -> tuple[str, ...]:
        """The item's sizes in document order; empty if it has none."""
        return tuple(self.prices or ())

    def own(self, group: OptionGroup) -> OptionGroup:
        """Return a group with this item's overrides."""
        here = {one.option: one for one in self.option_overrides if one.group == group.id}
        if not here:
            return group
        options = tuple(here[o.id].applied(o) if o.id in here else o for o in group.options)
        by_default = {o.id: o.id in group.defaults for o in group.options}
        by_default |= {one.option: one.default for one in here.values() if one.default is not None}
        defaults = tuple(option for option, comes in by_default.items() if comes)
        return group.model_copy(update={"options": options, "defaults": defaults})
