"""A cart as a form: every choice comes from the order's menu version, every amount from the schema.

The form names each line by its place in the order's draft, or as `+sku` for one that was added by tapping,
so that the words a line came from never travel through the browser. An option is sent as
`group/id/amount/count/portion`; what is sent is read back into a `CartDraft`, checked and priced like any
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from schemas.cart import (
    Amount,
    Cart,
    CartDraft,
    CartLine,
    CartOption,
    ItemLine,
    LineDraft,
    NoteDraft,
    OptionDraft,
    Portion,
)
from schemas.errors import InvalidCart
from schemas.menu import Item, Menu, OptionGroup
from schemas.wording import option_name
from services.web.pages import Form

ADDED = "+"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to tap. `price` is what it adds, or for a size what the item costs in it (minor units)."""

    value: str
    label: str
    price: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class GroupChoices:
    """One option group of a line: `one` takes a single choice or none, else any number."""

    id: str
    name: str
    one: bool
    required: bool
    choices: list[Choice]


@dataclass(frozen=True, slots=True)
class LineForm:
    """One line to change. `key` names it in the form; `limit` is the item's largest quantity."""

    key: str
    line: CartLine
    limit: int
    size_name: str | None
    sizes: list[Choice]
    groups: list[GroupChoices]


def line_forms(cart: Cart, keys: list[str], menu: Menu) -> list[LineForm]:
    """What can be changed about each line that is on the menu."""
    return [
        _line_form(key, line, item, menu)
        for key, line in zip(keys, cart.lines, strict=True)
        if line.sku is not None and (item := menu.item(line.sku)) is not None
    ]


def _line_form(key: str, line: CartLine, item: Item, menu: Menu) -> LineForm:
    sizes = [
        Choice(size.id, size.name, (item.prices or {})[size.id], size.id == line.size)
        for size_id in item.size_ids
        if (size := menu.size(size_id)) is not None
    ]
    groups = [
        _group(line, group, menu.language)
        for group_id in item.option_groups
        if (group := menu.group(group_id)) is not None
    ]
    size = menu.size(line.size) if line.size else None
    return LineForm(key, line, item.max_quantity, size.name if size else None, sizes, groups)


def _group(line: CartLine, group: OptionGroup, language: str) -> GroupChoices:
    taken = [option for option in line.options if option.group == group.id]
    choices = []
    for option in group.options:
        mine = [one for one in taken if one.id == option.id]
        choices += [Choice(_value(one), option_name(one, language), one.price, True) for one in mine]
        if not mine and option.available:
            offered = CartOption(
                group=group.id,
                id=option.id,
                name=option.name,
                amount=Amount.NORMAL,
                count=1,
                price=option.price,
            )
            choices.append(Choice(_value(offered), option.name, option.price, False))
    # One of each half are two of the group.
    one = group.choose == "one" and all(option.portion is Portion.WHOLE for option in taken)
    return GroupChoices(group.id, group.name, one, group.required, choices)


def _value(option: CartOption) -> str:
    return f"{option.group}/{option.id}/{option.amount.value}/{option.count}/{option.portion.value}"


def read_draft(form: Form, current: CartDraft, shown: Cart, menu: Menu) -> tuple[CartDraft, list[str]]:
    """The draft that a form describes, and the key of each of its lines.

    `current` is the order's draft and `shown` its cart: a size that was only defaulted stays unsaid.

    Raises:
        InvalidCart: nothing is left, or the form names what is not there.
    """
    asked = form.all("line") + ([f"{ADDED}{sku}"] if (sku := form.get("add")) else [])
    # What is added a second time is there already; its quantity is the way to more of it.
    keys = [key for key in dict.fromkeys(asked) if f"remove/{key}" not in form]
    try:
        lines = [_read_line(form, key, current, shown, menu) for key in keys]
        draft = CartDraft(lines=tuple(lines), notes=_notes_left(current, shown, keys))
    except (ValidationError, ValueError, IndexError, KeyError):
        raise InvalidCart([("/cart", "this form doesn't match your order; reload the page")]) from None
    if not draft.lines:
        raise InvalidCart([("/cart", "nothing is left in your order; speak again or start over")])
    return draft, keys


def _notes_left(current: CartDraft, shown: Cart, keys: list[str]) -> tuple[NoteDraft, ...]:
    """The notes of the draft without those of lines that were left out."""
    gone = {
        (note.kind, note.text) for note in shown.notes if note.line is not None and str(note.line) not in keys
    }
    return tuple(note for note in current.notes if (note.kind, note.heard) not in gone)


def _read_line(form: Form, key: str, current: CartDraft, shown: Cart, menu: Menu) -> LineDraft:
    if key.startswith(ADDED):
        item = menu.item(key.removeprefix(ADDED))
        if item is None:
            raise KeyError(key)
        start = ItemLine(kind="item", heard=item.name, sku=item.sku, quantity=1, size=item.default_size)
        defaulted = None
    else:
        index = int(key)
        line = current.lines[index] if index >= 0 else None
        if not isinstance(line, ItemLine):
            raise KeyError(key)
        start, defaulted = line, shown.lines[index].size if line.size is None else None
    if f"quantity/{key}" not in form:  # it was added with this very click
        return start
    size = form.get(f"size/{key}") or None
    return ItemLine(
        kind="item",
        heard=start.heard,
        sku=start.sku,
        quantity=int(form.get(f"quantity/{key}")),
        size=None if size == defaulted else size,
        options=tuple(_read_options(form, key)),
    )


def _read_options(form: Form, key: str) -> Iterator[OptionDraft]:
    for name in form.fields:
        if name.startswith(f"option/{key}/"):
            for value in form.all(name):
                if value:
                    group, option, amount, count, portion = value.split("/")
                    yield OptionDraft(
                        group=group,
                        id=option,
                        amount=Amount(amount),
                        count=int(count),
                        portion=Portion(portion),
                    )
