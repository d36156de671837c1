"""A menu: what can be ordered, its names and prices. The only source of prices.

Money is an integer number of minor units (cents). A document is checked whole: `Menu.parse` raises
`InvalidMenu` with a JSON pointer for each problem, so that they can be fixed all at once. Names clash only
between different things: a repeated name of one thing is dropped, and `Menu.read` says so.

Parts and their rules are in `schemas/menus`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, StringConstraints, ValidationError

from schemas.errors import InvalidMenu
from schemas.field_problems import MAX_PROBLEMS, field_problems
from schemas.menus.checks import (
    Note,
    clashes,
    group_problems,
    item_problems,
    name_clashes,
    spoken_key,
    tidied,
    too_many,
)
from schemas.menus.hours import Offered, TimeZone
from schemas.menus.nesting import nesting_problems, source, with_nested
from schemas.menus.parts import Id, Item, Name, Option, OptionGroup, Part, Ref, Size, Tax

__all__ = ["Item", "Menu", "Note", "Option", "OptionGroup", "Size", "Tax", "spoken_key"]


class Menu(Part):
    """A whole menu document, immutable once imported; an order keeps the version it began with."""

    id: Id
    name: Name
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "en"
    sizes: tuple[Size, ...] = Field(default=(), max_length=200)
    option_groups: tuple[OptionGroup, ...] = Field(default=(), max_length=500)
    items: tuple[Item, ...] = Field(min_length=1)
    time_zone: Annotated[TimeZone | None, Field(exclude_if=lambda zone: zone is None)] = None
    taxes: Annotated[tuple[Tax, ...], Field(max_length=50, exclude_if=lambda taxes: not taxes)] = ()
    ref: Ref = None

    @classmethod
    def parse(cls, document: Any) -> Menu:
        """Build a menu from parsed JSON, like `read` without its notes. Raises InvalidMenu."""
        return cls.read(document)[0]

    @classmethod
    def read(cls, document: Any) -> tuple[Menu, tuple[Note, ...]]:
        """Build a menu from parsed JSON, without repeated names; also return a note for each of these.

        Raises:
            InvalidMenu: wrong shape, clashing names, or references to nothing.
        """
        try:
            menu = cls.model_validate(document)
        except ValidationError as error:
            wrong = field_problems(error.errors())
            raise InvalidMenu([(place or "/", text) for place, text in wrong]) from None
        problems = too_many(menu.sizes, menu.option_groups, menu.items) or list(_contradictions(menu))
        if problems:
            raise InvalidMenu(problems[:MAX_PROBLEMS])
        return _tidied(menu)

    @property
    def offered(self) -> list[Offered]:
        """All items and options: what may be sold out or have hours."""
        return [*self.items, *(option for group in self.option_groups for option in group.options)]

    def item(self, sku: str) -> Item | None:
        return next((item for item in self.items if item.sku == sku), None)

    def group(self, group_id: str) -> OptionGroup | None:
        """Return the group with an id, which for a nested one is its path (`schemas/menus/nesting.py`)."""
        top_level = next((group for group in self.option_groups if group.id == group_id), None)
        if top_level is not None or (top := group_id.partition(">")[0]) == group_id:
            return top_level
        nested = (inner for g in self.option_groups if g.id == top for inner in with_nested(g, self))
        return next((inner for inner in nested if inner.id == group_id), None) or self.group(source(group_id))

    def option_name(self, group_id: str, option_id: str) -> str:
        """Return an option's name, or its id if the menu doesn't have it."""
        group = self.group(group_id)
        known = group.options if group else self.sizes  # a size of an unknown option
        return next((one.name for one in known if one.id == option_id), option_id)

    def size(self, size_id: str) -> Size | None:
        return next((size for size in self.sizes if size.id == size_id), None)

    def groups_of(self, item: Item) -> list[OptionGroup]:
        """Return an item's option groups in its order, with its overrides, each followed by nested ones."""
        groups = filter(None, map(self.group, item.option_groups))
        return [inner for group in groups for inner in with_nested(item.own(group), self)]

    def nested_groups(self, top: Collection[str] | None = None) -> list[OptionGroup]:
        """Return the groups with these ids, by default all, each followed by nested ones."""
        groups = (group for group in self.option_groups if top is None or group.id in top)
        return [inner for group in groups for inner in with_nested(group, self)]

    def at(self, moment: datetime) -> Menu:
        """Return the menu at a moment: what is sold out or outside its hours is not available."""
        if not any(part.hours or part.sold_out_until for part in self.offered):
            return self
        local = moment.astimezone(ZoneInfo(self.time_zone or "UTC"))
        groups = tuple(
            group.model_copy(update={"options": tuple(option.at(local) for option in group.options)})
            for group in self.option_groups
        )
        items = tuple(item.at(local) for item in self.items)
        return self.model_copy(update={"items": items, "option_groups": groups})


@dataclass(frozen=True, slots=True)
class MenuHeader:
    """A menu version in a list, without its document; `items` and `sold_out` are counts."""

    id: str
    version: int
    digest: str
    name: str
    currency: str
    language: str
    items: int
    sold_out: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MenuVersion:
    """One immutable version of a shop's menu; `version` counts from 1, `digest` is of the document."""

    shop: str
    menu: Menu
    version: int
    digest: str
    created_at: datetime

    def at(self, moment: datetime) -> MenuVersion:
        """Return the version with its menu at a moment."""
        menu = self.menu.at(moment)
        return self if menu is self.menu else replace(self, menu=menu)

    @property
    def header(self) -> MenuHeader:
        menu = self.menu
        return MenuHeader(
            id=menu.id,
            version=self.version,
            digest=self.digest,
            name=menu.name,
            currency=menu.currency,
            language=menu.language,
            items=len(menu.items),
            sold_out=sum(not item.available for item in menu.items),
            created_at=self.created_at,
        )


def _tidied(menu: Menu) -> tuple[Menu, tuple[Note, ...]]:
    """Return the menu without repeated names, and a note for each of these."""
    notes: list[Note] = []
    sizes = tuple(tidied(menu.sizes, "/sizes", notes))
    groups = tuple(
        group.model_copy(
            update={"options": tuple(tidied(group.options, f"/option_groups/{g}/options", notes))}
        )
        for g, group in enumerate(menu.option_groups)
    )
    items = tuple(tidied(menu.items, "/items", notes))
    whole = menu.model_copy(update={"sizes": sizes, "option_groups": groups, "items": items})
    return (whole if notes else menu), tuple(notes)


def _contradictions(menu: Menu) -> Iterator[Note]:
    """Yield what the shape alone can't forbid, as (JSON pointer, sentence)."""
    yield from name_clashes(menu.sizes, menu.option_groups, menu.items)
    yield from clashes(((f"/taxes/{t}/id", tax.id) for t, tax in enumerate(menu.taxes)), "tax id")
    sizes, taxes = {size.id for size in menu.sizes}, {tax.id for tax in menu.taxes}
    groups = {group.id: group for group in menu.option_groups}
    for g, group in enumerate(menu.option_groups):
        yield from group_problems(group, f"/option_groups/{g}", sizes)
    yield from nesting_problems(menu.option_groups, menu)
    for i, item in enumerate(menu.items):
        yield from item_problems(item, f"/items/{i}", sizes, groups, taxes)
    if menu.time_zone is None and any(part.hours for part in menu.offered):
        yield "/time_zone", "is missing, but something has hours"
