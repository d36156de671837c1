"""What people may call the things of a menu: suggestions for staff to accept or refuse (ADR 67)."""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from schemas.menu import Item, Menu, Option

Source = Literal["corrections", "orders", "model"]
SOURCES: tuple[Source, ...] = get_args(Source)
FROM_ORDERS: tuple[Source, ...] = ("corrections", "orders")
"""Those that hold words of customers."""

_Thing = TypeVar("_Thing", Item, Option)


class Suggestion(BaseModel):
    """One name that a thing of the menu may get."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="of this name for this thing of this menu, the same whenever it is found")
    thing: str = Field(description="`item/SKU` or `option/GROUP/ID`")
    name: str = Field(description="what the menu calls it")
    words: str = Field(description="what people may call it")
    source: Source
    count: int = Field(description="different orders that said so; 0 of a model")
    reason: str


def item_key(sku: str) -> str:
    return f"item/{sku}"


def option_key(group: str, option: str) -> str:
    return f"option/{group}/{option}"


def thing_of(menu: Menu, key: str) -> Item | Option | None:
    """The item or option that a key names; None where the menu has it no more."""
    kind, _, rest = key.partition("/")
    if kind == "item":
        return menu.item(rest)
    group_id, _, option_id = rest.partition("/")
    group = menu.group(group_id)
    return next((option for option in group.options if option.id == option_id), None) if group else None


def things(menu: Menu) -> list[tuple[str, Item | Option]]:
    """Every item and option with its key, in the menu's order."""
    items: list[tuple[str, Item | Option]] = [(item_key(item.sku), item) for item in menu.items]
    return items + [(option_key(g.id, option.id), option) for g in menu.option_groups for option in g.options]


def with_alias(menu: Menu, key: str, words: str) -> Menu:
    """The menu with one more alias; not checked. As it is, where it has the thing no more."""
    kind, _, rest = key.partition("/")
    if kind == "item":
        items = tuple(_named(item, words) if item.sku == rest else item for item in menu.items)
        return menu.model_copy(update={"items": items})
    group_id, _, option_id = rest.partition("/")
    groups = tuple(
        group.model_copy(
            update={"options": tuple(_named(o, words) if o.id == option_id else o for o in group.options)}
        )
        if group.id == group_id
        else group
        for group in menu.option_groups
    )
    return menu.model_copy(update={"option_groups": groups})


def _named(thing: _Thing, words: str) -> _Thing:
    return thing.model_copy(update={"aliases": (*thing.aliases, words)})
