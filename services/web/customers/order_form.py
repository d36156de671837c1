"""The customer's form for a cart, with choices from the order's menu version and amounts from the schema.

A line is named by its index in the order's draft, or `+sku` if it was added in the form, so a line's words
never travel through the browser. An option is sent as `group/id/amount/count/portion`. The form is parsed
into a `CartDraft`, which is checked and priced like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from schemas.cart import Amount, CartDraft, ItemLine, LineDraft, NoteDraft, OptionDraft, Portion
from schemas.errors import InvalidCart
from schemas.menu import Item, Menu, OptionGroup
from schemas.priced_cart import Cart, CartLine
from schemas.wording import option_name
from services.validation.portions import open_groups, without_closed
from services.web.pages import Form

ADDED = "+"


@dataclass(frozen=True, slots=True)
class FormChoice:
    """An option to choose, with its extra price in minor units."""

    value: str
    label: str
    price: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class GroupChoices:
    """One option group of a line. `one`: at most one choice, else any number."""

    id: str
    name: str
    one: bool
    required: bool
    choices: list[FormChoice]


@dataclass(frozen=True, slots=True)
class LineForm:
    """One line of the form, named by `key`."""

    key: str
    line: CartLine
    item: Item
    groups: list[GroupChoices]


def line_forms(cart: Cart, keys: list[str], menu: Menu) -> list[LineForm]:
    """Return the form of each line that is on the menu."""
    return [
        LineForm(
            key,
            line,
            item,
            [_group(line, group, menu.language) for group in open_groups(line, menu.groups_of(item))],
        )
        for key, line in zip(keys, cart.lines, strict=True)
        if line.sku is not None and (item := menu.item(line.sku)) is not None
    ]


def _group(line: CartLine, group: OptionGroup, language: str) -> GroupChoices:
    in_group = [option for option in line.options if option.group == group.id]
    choices = []
    for option in group.options:
        selected = [o for o in in_group if o.id == option.id]
        for o in selected:
            value = f"{o.group}/{o.id}/{o.amount}/{o.count}/{o.portion}"
            choices.append(FormChoice(value, option_name(o, language), o.price, True))
        if not selected and option.available:
            value = f"{group.id}/{option.id}/{Amount.NORMAL}/1/{Portion.WHOLE}"
            choices.append(FormChoice(value, option.name, option.price, False))
    # One on each half makes two of the group.
    one = group.choose == "one" and all(option.portion is Portion.WHOLE for option in in_group)
    return GroupChoices(group.id, group.name, one, group.least > 0 and not group.defaults, choices)


def read_draft(form: Form, current: CartDraft, shown: Cart, menu: Menu) -> tuple[CartDraft, list[str]]:
    """Return a form's draft and the keys of its lines; raises InvalidCart. `current` is the order's draft and
    `shown` its cart: a defaulted size stays unspecified."""
    wanted = form.all("line") + ([f"{ADDED}{sku}"] if (sku := form.get("add")) else [])
    # An item added twice stays one line, whose quantity can be raised.
    keys = [key for key in dict.fromkeys(wanted) if f"remove/{key}" not in form]
    try:
        lines = [_read_line(form, key, current, shown, menu) for key in keys]
        draft = CartDraft(lines=tuple(lines), notes=_remaining_notes(current, shown, keys))
    except (ValidationError, ValueError, IndexError, KeyError):
        raise InvalidCart([("/cart", "this form doesn't match your order; reload the page")]) from None
    if not draft.lines:
        raise InvalidCart([("/cart", "nothing is left in your order; add something or start over")])
    return draft, keys


def _remaining_notes(current: CartDraft, shown: Cart, keys: list[str]) -> tuple[NoteDraft, ...]:
    """Return the draft's notes without those of removed lines."""
    removed = {
        (note.kind, note.text) for note in shown.notes if note.line is not None and str(note.line) not in keys
    }
    return tuple(note for note in current.notes if (note.kind, note.heard) not in removed)


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
    if f"quantity/{key}" not in form:  # just added
        return start
    size = form.get(f"size/{key}") or None
    line = ItemLine(
        kind="item",
        heard=start.heard,
        sku=start.sku,
        quantity=int(form.get(f"quantity/{key}")),
        size=None if size == defaulted else size,
        options=tuple(_read_options(form, key)),
    )
    return without_closed(line, menu)


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
