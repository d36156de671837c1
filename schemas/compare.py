"""When are two carts the same order, and what did a person change in one, in words that can be counted?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from schemas.cart import CartDraft
from schemas.priced_cart import Cart, CartLine, CartNote

Chosen = tuple[str, str, str, int, str]
"""An option: group, id, amount, count, portion."""

LineKey = tuple[str, str | None, str | None, frozenset[Chosen]]
"""A line without its quantity: kind, sku, size, options."""


def canonical(lines: list[dict[str, Any]]) -> Counter[LineKey]:
    """Draft lines as a multiset: (kind, sku, size, options) -> quantity.

    Equal lines are merged, options are a set, fields left out mean their default, and the customer's words
    (`heard`) do not count.
    """
    merged: Counter[LineKey] = Counter()
    for line in lines:
        options = frozenset(
            (o["group"], o["id"], o.get("amount", "normal"), o.get("count", 1), o.get("portion", "whole"))
            for o in line.get("options", ())
        )
        key = line.get("kind", "item"), line.get("sku"), line.get("size"), options
        merged[key] += line["quantity"]
    return merged


def canonical_draft(draft: CartDraft | None) -> Counter[LineKey]:
    """The same of a draft; none is an empty one."""
    return canonical(draft.model_dump(mode="json")["lines"]) if draft else Counter()


def same_order(one: CartDraft, other: CartDraft | None) -> bool:
    """Whether two drafts are the same to a kitchen: equal lines and equal notes."""
    if other is None:
        return False
    return canonical_draft(one) == canonical_draft(other) and Counter(one.notes) == Counter(other.notes)


# Only the customer's words name it, and what is counted here is never erased.
UNLISTED = "something that is not on the menu"


def corrections(before: Cart | None, after: Cart | None) -> Iterable[str]:
    """What became of a cart; nothing where either is missing. Of a note only the kind is named: its words are
    the customer's."""
    if after is None or before is None:
        return
    pairs, left = paired(before.lines, after.lines)
    for old, new in pairs:
        yield from [f"{_named(old)} taken off"] if new is None else _line_changes(old, new)
    for line in left:
        yield f"{_named(line)} added"
    for what, notes in (("taken off", other_notes(before, after)), ("added", other_notes(after, before))):
        yield from (f"{note.kind} note {what}" for note in notes)


def other_notes(cart: Cart, than: Cart) -> list[CartNote]:
    """Return the notes of a cart that another has not; their lines may have other numbers there."""
    known = {(note.kind, note.text) for note in than.notes}
    return [note for note in cart.notes if (note.kind, note.text) not in known]


Pair = tuple[CartLine, CartLine | None]
"""A line, and the one that it became."""


def paired(had: list[CartLine], has: list[CartLine]) -> tuple[list[Pair], list[CartLine]]:
    """Return each old line with the new one that it became, and the new lines that are left. Lines that are
    the same are paired first, then those of the same words, then those of the same item."""
    found, left = dict[int, CartLine](), list(has)
    for alike in (bought, lambda line: line.heard.text, lambda line: line.sku or line.name):
        for number, old in enumerate(had):
            new = next((line for line in left if alike(line) == alike(old)), None)
            if number not in found and new is not None:
                found[number] = new
                left.remove(new)
    return [(old, found.get(number)) for number, old in enumerate(had)], left


def bought(line: CartLine) -> Hashable:
    """Return what makes two priced lines the same purchase."""
    chosen = frozenset((o.group, o.id, o.amount, o.count, o.portion) for o in line.options)
    return line.sku or line.name, line.quantity, line.size, chosen


def _line_changes(old: CartLine, new: CartLine) -> Iterable[str]:
    if old.sku != new.sku:
        yield f"{_named(old)} → {_named(new)}"
        return
    if old.size != new.size:
        yield f"another size of {new.name}"
    if old.quantity != new.quantity:
        yield f"another number of {_named(new)}"
    had, has = ({(o.group, o.id, o.portion): o for o in line.options} for line in (old, new))
    for key in sorted({*had, *has}):
        if key not in has:
            yield f"without {had[key].name}"
        elif key not in had:
            yield f"with {has[key].name}"
        elif (had[key].amount, had[key].count) != (has[key].amount, has[key].count):
            yield f"another amount of {has[key].name}"


def _named(line: CartLine) -> str:
    return UNLISTED if line.kind == "not_on_menu" else line.name
