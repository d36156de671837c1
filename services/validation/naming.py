"""How the things of a cart are called in what a customer reads: by the menu's names, and quoted; what joins
them is in the menu's language, or in English where no customer reads it."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Amount
from schemas.menu import Menu
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.wording import amount_name


def quoted(name: str) -> str:
    return f"“{name}”"


def listed(names: Iterable[str], joint: str = "and", language: str = ENGLISH) -> str:
    """Quoted names in a row: “a”, “b” and “c”."""
    return sentences(language).joined(map(quoted, names), joint)


def size_called(size_id: str, menu: Menu) -> str:
    size = menu.size(size_id)
    return quoted(size.name if size is not None else size_id)


def option_name(group_id: str, option_id: str, menu: Menu, amount: Amount = Amount.NORMAL) -> str:
    """`oat milk`, `no foam`, or in the menu's language; not quoted."""
    group = menu.group(group_id)
    known = group.options if group else menu.sizes  # where it isn't known of which option it is the size
    name = next((one.name for one in known if one.id == option_id), option_id)
    return amount_name(amount, name, menu.language)
