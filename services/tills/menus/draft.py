"""A menu document under construction: what the readers of all formats share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from schemas.errors import InputError, InvalidMenu
from schemas.menu import Item, Menu, Note, Option, OptionGroup, Size, Tax, spoken_key
from schemas.menus.hours import Hours
from schemas.menus.nesting import LEVELS
from schemas.wording import minor_units
from schemas.writable import one_line, whole_words
from services.tills.menus.imported import Document, ImportedMenu
from services.tills.menus.source import Node

MAX_TEXT = 500  # characters of a description
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class Draft:
    """A document under construction, which `Menu.read` checks later. `menu` has the menu's own fields."""

    source: Node
    menu: Document
    sizes: dict[str, Size] = field(default_factory=dict)
    groups: dict[str, OptionGroup] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    taxes: dict[Hashable, Tax] = field(default_factory=dict)
    not_imported: list[Note] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    group_places: dict[str, dict[str, str]] = field(default_factory=dict)
    """By group id: places of the group ("") and its parts ("/options/0")."""
    built: dict[Hashable, OptionGroup | None] = field(default_factory=dict)
    """Groups by the source's keys."""

    def skip(self, place: str, what: str) -> None:
        self.not_imported.append((place, what))

    def minor(self, amount: Decimal | str, place: str) -> int:
        """Return an amount in minor units. If it isn't a price, record a problem and return 0."""
        if not (currency := str(self.menu.get("currency") or "")):
            raise InputError("The file names no currency", hint="Say which, such as USD (`--currency USD`).")
        try:
            return minor_units(str(amount), currency)
        except ValueError:
            self.source.problems.append((place, f"“{amount}” is not a price in {currency}, such as 4.50"))
            return 0

    def size(self, name: str, aliases: tuple[str, ...] = ()) -> str:
        """Return the id of the size with this name, adding the size or further aliases."""
        key = spoken_key(name)
        if key not in self.sizes:
            size_id = slug(name, [size.id for size in self.sizes.values()])
            self.sizes[key] = Size.model_construct(id=size_id, name=name)
        size = self.sizes[key]
        aliases = tuple(dict.fromkeys((*size.aliases, *aliases)))
        self.sizes[key] = size.model_copy(update={"aliases": aliases})
        return size.id

    def tax(self, rate: str, *, included: bool, name: str = "", **fields: Any) -> str:
        """Return the id of the tax with this rate in percent, adding it if it is new."""
        name = name or f"Tax {rate}%"
        key = (name, rate, included, fields.get("ref"))
        if key not in self.taxes:
            tax_id = slug(name, [tax.id for tax in self.taxes.values()])
            self.taxes[key] = Tax.model_construct(
                id=tax_id, name=name, rate=rate, included=included, **fields
            )
        return self.taxes[key].id

    def priced(self, offers: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        """Return an item's price fields. An offer is (size name or "", price, ref)."""
        if offers[0][0] == "":
            return {"price": offers[0][1]}
        sizes = [(self.size(name), price, ref) for name, price, ref in offers]
        return {
            "prices": {size: price for size, price, _ in sizes},
            "size_refs": {size: ref for size, _, ref in sizes if ref},
        }

    def add_item(
        self, place: str, *, name: str, description: str = "", image: str = "", **fields: Any
    ) -> None:
        """Add an item, with its image if that is an https URL, and a description of at most `MAX_TEXT`."""
        text = " ".join(one_line(description).split())
        if len(text) > MAX_TEXT:
            self.skip(place, f"the end of the description of “{name}”")
        fields |= {
            "sku": fields.get("sku") or slug(name, [item.sku for item in self.items]),
            "name": name,
            "description": whole_words(text, MAX_TEXT),
            "image": image if image.startswith("https://") else None,
        }
        self.places[f"/items/{len(self.items)}"] = place
        self.items.append(Item.model_construct(**_filled(fields)))

    def groups_of(
        self, keys: Iterable[Key], build: Callable[[Key], OptionGroup | None]
    ) -> tuple[OptionGroup, ...]:
        """Return the groups of the source's keys, building each once; a cycle ends where it began."""
        keys = list(dict.fromkeys(keys))
        for key in keys:
            if key not in self.built:
                self.built[key] = None
                self.built[key] = build(key)
        return tuple(group for key in keys if (group := self.built[key]))

    def add_group(
        self,
        place: str,
        *,
        name: str,
        options: Iterable[Option],
        item: str,
        defaults: Collection[str] = (),
        charged: bool = True,
        **fields: Any,
    ) -> OptionGroup:
        """Add a group. A name that another group has is made unique by that of the first `item` with it.

        `defaults` are the till's ids of options, or their names where they have no id. Where the till charges
        for defaults (`charged`), only free options can be defaults.
        """
        by_id: dict[str, Option] = {}
        for option in options:
            option_id = slug(option.name, by_id)
            by_id[option_id] = option.model_copy(update={"id": option_id})
        wanted = [option for option in by_id.values() if (option.ref or option.name) in defaults]
        for option in wanted:
            if charged and option.price:
                self.skip(place, f"“{option.name}” isn't there by default, since it costs something")
        taken = {spoken_key(other.name) for other in self.groups.values()}
        names = [name, f"{name} for {item}", *_numbered(f"{name} ", taken)]
        fields |= {
            "id": slug(name, self.groups),
            "min": fields.get("min", 0),
            "name": next(one for one in names if spoken_key(one) not in taken),
            "defaults": tuple(one.id for one in wanted if not (charged and one.price)),
        }
        group = OptionGroup.model_construct(options=tuple(by_id.values()), **_filled(fields))
        self.groups[group.id], self.group_places[group.id] = group, {"": place}
        return group

    def finish(self, ignored: Collection[str] = ()) -> ImportedMenu:
        """Return the document. Unread fields of the source are listed as not imported, except `ignored` ones.

        Raises:
            InvalidMenu: with what couldn't be read of the source.
        """
        if self.source.problems:
            raise InvalidMenu(list(dict.fromkeys(self.source.problems)))
        self.not_imported += self.source.unread(ignored)
        groups = tuple(self._reachable())
        for g, group in enumerate(groups):
            places = self.group_places[group.id]
            self.places |= {f"/option_groups/{g}{part}": place for part, place in places.items()}
        own: dict[str, Any] = {"id": slug(str(self.menu["name"]), ()), "language": "en"} | self.menu
        menu = Menu.model_construct(
            **own,
            sizes=tuple(self.sizes.values()),
            option_groups=groups,
            items=tuple(self.items),
            taxes=tuple(self.taxes.values()),
        )
        document = menu.model_dump(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
        return ImportedMenu(document, tuple(dict.fromkeys(self.not_imported)), self.places)

    def _reachable(self) -> Iterator[OptionGroup]:
        """Yield the groups that items lead to, without options nested too deep."""
        levels = self._levels()
        for group in self.groups.values():
            place = self.group_places[group.id][""]
            if group.id not in levels:
                self.skip(place, f"the options “{group.name}”, which no item leads to")
            elif levels[group.id] == LEVELS and any(option.option_groups for option in group.options):
                self.skip(place, f"options inside those of “{group.name}”: too deep")
                plain = tuple(option.model_copy(update={"option_groups": ()}) for option in group.options)
                yield group.model_copy(update={"options": plain})
            else:
                yield group

    def _levels(self) -> dict[str, int]:
        """Return the deepest level of each group that items lead to."""
        opened = {key for item in self.items for key in item.option_groups}
        levels: dict[str, int] = {}
        for level in range(1, LEVELS + 1):
            groups = [self.groups[key] for key in opened if key in self.groups]
            levels |= {group.id: level for group in groups}
            opened = {key for group in groups for option in group.options for key in option.option_groups}
        return levels


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Drop empty fields, except a name, which `Menu.read` refuses."""
    return {key: value for key, value in fields.items() if key == "name" or value not in (None, "", (), {})}


def new_option(**fields: Any) -> Option:
    """Return an option without an id, which `add_group` sets."""
    return Option.model_construct(**_filled(fields))


def either(hours: Iterable[Iterable[Hours]]) -> tuple[Hours, ...]:
    """Return the hours of several menus together; empty if one of them is always served."""
    schedules = [tuple(one) for one in hours]
    return tuple(dict.fromkeys(one for some in schedules for one in some)) if all(schedules) else ()


def slug(name: str, taken: Collection[str]) -> str:
    """Return an id that reads like `name` and isn't taken: `oat-milk`, `oat-milk-2`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-") or "x"
    return next(i for i in (plain, *_numbered(f"{plain}-", taken)) if i not in taken)


def _numbered(name: str, taken: Collection[str]) -> list[str]:
    return [f"{name}{number}" for number in range(2, len(taken) + 3)]
