"""Compare carts: are they the same order, and what did a person change, in words that can be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from schemas.cart import CartDraft, Line
from schemas.priced_cart import Cart, CartLine, CartNote

OptionKey = tuple[str, str, str, int, str]
"""An option: group, id, amount, count, portion."""

LineKey = tuple[str, str | None, str | None, frozenset[OptionKey]]
"""A line without its quantity: kind, sku, size, options."""


def canonical(lines: Iterable[Line]) -> Counter[LineKey]:
    """Return draft lines as a multiset: (kind, sku, size, options) -> quantity.

    Equal lines are merged, options are a set, missing fields mean their default, and the customer's words
    (`heard`) don't count.
    """
    merged: Counter[LineKey] = Counter()
    for line in lines:
        options = frozenset(
            (o["group"], o["id"], o.get("amount", "normal"), o.get("count", 1), o.get("portion", "whole"))
            for o in line.get("options", ())
        )
        kind = "item" if line.get("sku") else "not_on_menu"
        key = kind, line.get("sku"), line.get("size"), options
        merged[key] += line["quantity"]
    return merged


def canonical_draft(draft: CartDraft | None) -> Counter[LineKey]:
    """Return `canonical` of a draft's lines; empty without a draft."""
    return canonical(draft.model_dump(mode="json")["lines"]) if draft else Counter()


def same_order(one: CartDraft, other: CartDraft | None) -> bool:
    """Return True if two drafts have equal lines and equal notes."""
    if other is None:
        return False
    return canonical_draft(one) == canonical_draft(other) and Counter(one.notes) == Counter(other.notes)


# Corrections are never erased, so they must not hold the customer's words.
UNLISTED = "something that is not on the menu"


def corrections(before: Cart | None, after: Cart | None) -> Iterable[str]:
    """Yield the changes from one cart to another, none if either is missing. Notes are named by kind only:
    the words are the customer's."""
    if after is None or before is None:
        return
    pairs, remaining = paired(before.lines, after.lines)
    for old, new in pairs:
        yield from [f"{_named(old)} taken off"] if new is None else _line_changes(old, new)
    for line in remaining:
        yield f"{_named(line)} added"
    for what, notes in (("taken off", other_notes(before, after)), ("added", other_notes(after, before))):
        yield from (f"{note.kind} note {what}" for note in notes)


def other_notes(cart: Cart, than: Cart) -> list[CartNote]:
    """Return the notes of a cart that another doesn't have; line numbers are ignored."""
    known = {(note.kind, note.text) for note in than.notes}
    return [note for note in cart.notes if (note.kind, note.text) not in known]


Pair = tuple[CartLine, CartLine | None]
"""An old line, and the new one it became."""


def paired(before: list[CartLine], after: list[CartLine]) -> tuple[list[Pair], list[CartLine]]:
    """Return each old line with its new one, and the remaining new lines. Equal lines are paired first, then
    lines with the same words, then with the same item."""
    partners, remaining = dict[int, CartLine](), list(after)
    for alike in (bought, lambda line: line.heard.text, lambda line: line.sku or line.name):
        for number, old in enumerate(before):
            new = next((line for line in remaining if alike(line) == alike(old)), None)
            if number not in partners and new is not None:
                partners[number] = new
                remaining.remove(new)
    return [(old, partners.get(number)) for number, old in enumerate(before)], remaining


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
        yield f"another quantity of {_named(new)}"
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
