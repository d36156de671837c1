"""What a person changed in a cart, line by line, in words that can be counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from schemas.cart import Cart, CartLine

# Only the customer's words name it, and what is counted here is never erased.
UNLISTED = "something that is not on the menu"


def corrections(before: Cart | None, after: Cart | None) -> Iterable[str]:
    """What became of a cart; nothing where either is missing. Lines that are the same are paired first, then
    those of the same words, then those of the same item."""
    if after is None or before is None:
        return
    had, left = list(before.lines), list(after.lines)
    pairs = dict[int, CartLine]()
    for alike in (_bought, lambda line: line.heard.text, lambda line: line.sku or line.name):
        for number, old in enumerate(had):
            new = next((line for line in left if alike(line) == alike(old)), None)
            if number not in pairs and new is not None:
                pairs[number] = new
                left.remove(new)
    for number, old in enumerate(had):
        if number in pairs:
            yield from _line_changes(old, pairs[number])
        else:
            yield f"{_named(old)} taken off"
    for line in left:
        yield f"{_named(line)} added"


def _bought(line: CartLine) -> Hashable:
    chosen = frozenset((o.group, o.id, o.amount, o.count, o.portion) for o in line.options)
    return line.name, line.quantity, line.size, chosen


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
