"""What a person changed in a cart, line by line, in words that can be counted."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Cart, CartLine

# Only the customer's words name it, and what is counted here is never erased.
UNLISTED = "something that is not on the menu"


def corrections(before: Cart | None, after: Cart | None) -> Iterable[str]:
    """What staff changed; nothing where either cart is missing. Lines are paired by their own words."""
    if after is None or before is None:
        return
    left = list(after.lines)
    for old in before.lines:
        new = next((line for line in left if line.heard.text == old.heard.text), None)
        if new is None:
            yield f"{_named(old)} taken off"
            continue
        left.remove(new)
        yield from _line_changes(old, new)
    for line in left:
        yield f"{_named(line)} added"


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
