"""A menu from another system: our document, what it lacks of the source, and where its parts stood there."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import JsonValue

from schemas.errors import InputError, InvalidMenu
from schemas.menu import Item, Menu, Note, Option, OptionGroup, Size, Tax, spoken_key
from schemas.menus.hours import Hours
from schemas.menus.nesting import LEVELS
from schemas.wording import minor_units
from schemas.writable import one_line, whole_words
from services.tills.menus.source import Node

MAX_TEXT = 500  # characters of a description
Document = dict[str, JsonValue]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller says of the menu, in place of the file; `known` is for what neither says."""

    id: str | None = None
    name: str | None = None
    currency: str | None = None
    time_zone: str | None = None
    known: Mapping[str, str | None] = field(default_factory=dict)

    def over(self, document: Mapping[str, JsonValue], name: str = "") -> Document:
        """The document with these fields; `name` is for one that nothing names."""
        own = {"id": self.id, "name": self.name, "currency": self.currency, "time_zone": self.time_zone}
        layers = ({"name": name}, self.known, document, own)
        return {key: value for layer in layers for key, value in layer.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class ImportedMenu:
    """`document` is unchecked; `lacking` has (place in the source, what wasn't imported); `places` says
    where in the source a JSON pointer of the document stood."""

    document: Document
    lacking: tuple[Note, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, path: str) -> str:
        """Where a JSON pointer of the document stands in the source, as far as that is known."""
        above = path
        while above and above not in self.places:
            above = above.rpartition("/")[0]
        rest = path.removeprefix(above).removeprefix("/")
        return path if not above else f"{self.places[above]} ({rest})" if rest else self.places[above]


@dataclass(slots=True)
class Draft:
    """A document under construction, unchecked: `Menu.read` does that. `menu` has the fields of the menu
    itself, `places` where parts are in the `source`."""

    source: Node
    menu: Document
    sizes: dict[str, Size] = field(default_factory=dict)
    groups: dict[str, OptionGroup] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    taxes: dict[tuple[str, bool, str | None], Tax] = field(default_factory=dict)
    lacking: list[Note] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    group_places: dict[str, str] = field(default_factory=dict)
    known: dict[Hashable, OptionGroup | None] = field(default_factory=dict)
    """Groups by the source's keys."""

    def lack(self, place: str, what: str) -> None:
        self.lacking.append((place, what))

    def minor(self, amount: Decimal | str, place: str) -> int:
        """An amount in minor units; a problem, and 0, where it isn't one."""
        if not (currency := str(self.menu.get("currency") or "")):
            raise InputError("The file names no currency", hint="Say which, such as USD (`--currency USD`).")
        try:
            return minor_units(str(amount), currency)
        except ValueError:
            self.source.problems.append((place, f"“{amount}” is not a price in {currency}, such as 4.50"))
            return 0

    def size(self, name: str, aliases: tuple[str, ...] = ()) -> str:
        """The id of the size with this name, which is added once."""
        key = spoken_key(name)
        if key not in self.sizes:
            size_id = new_id(name, [size.id for size in self.sizes.values()])
            self.sizes[key] = Size.model_construct(id=size_id, name=name, aliases=aliases)
        return self.sizes[key].id

    def tax(self, rate: str, *, included: bool, name: str = "", **fields: Any) -> str:
        """The id of the tax with this rate, in percent, which is added once."""
        key, name = (rate, included, fields.get("ref")), name or f"Tax {rate}%"
        if key not in self.taxes:
            fields |= {"id": new_id(name, [tax.id for tax in self.taxes.values()]), "name": name}
            self.taxes[key] = Tax.model_construct(rate=rate, included=included, **fields)
        return self.taxes[key].id

    def priced(self, offers: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        """The price of an item, or its prices and refs by size: of (name of a size or "", price, ref)."""
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
        """Add an item. An https image stays, and of a description what there is room for."""
        text = " ".join(one_line(description).split())
        if len(text) > MAX_TEXT:
            self.lack(place, f"the end of the description of “{name}”")
        fields |= {
            "sku": fields.get("sku") or new_id(name, [item.sku for item in self.items]),
            "name": name,
            "description": whole_words(text, MAX_TEXT),
            "image": image if image.startswith("https://") else None,
        }
        self.places[f"/items/{len(self.items)}"] = place
        self.items.append(Item.model_construct(**_filled(fields)))

    def groups_of(
        self, keys: Iterable[Key], build: Callable[[Key], OptionGroup | None]
    ) -> tuple[OptionGroup, ...]:
        """The groups of the source's keys, each built once; of those that a group leads back to, none."""
        keys = list(dict.fromkeys(keys))
        for key in keys:
            if key not in self.known:
                self.known[key] = None
                self.known[key] = build(key)
        return tuple(group for key in keys if (group := self.known[key]))

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
        """Add a group, with a name that tells it from others: with that of the `item` that has it first.

        `defaults` are the till's ids of options, or the names of those without one. Where the till charges
        for defaults (`charged`), only options that cost nothing can be any.
        """
        known: dict[str, Option] = {}
        for option in options:
            option_id = new_id(option.name, known)
            known[option_id] = option.model_copy(update={"id": option_id})
        wanted = [option for option in known.values() if (option.ref or option.name) in defaults]
        for option in wanted:
            if charged and option.price:
                self.lack(place, f"“{option.name}” isn't there by default, since it costs something")
        taken = {spoken_key(other.name) for other in self.groups.values()}
        names = [name, f"{name} for {item}", *_numbered(f"{name} ", taken)]
        fields |= {
            "id": new_id(name, self.groups),
            "min": fields.get("min", 0),
            "name": next(one for one in names if spoken_key(one) not in taken),
            "defaults": tuple(one.id for one in wanted if not (charged and one.price)),
        }
        group = OptionGroup.model_construct(options=tuple(known.values()), **_filled(fields))
        self.groups[group.id], self.group_places[group.id] = group, place
        return group

    def finish(self, ignored: Collection[str] = ()) -> ImportedMenu:
        """The document; what the source has and nothing reads is lacking, but for `ignored` names.

        Raises:
            InvalidMenu: with what couldn't be read of the source.
        """
        if self.source.problems:
            raise InvalidMenu(list(dict.fromkeys(self.source.problems)))
        self.lacking += self.source.unread(ignored)
        groups = tuple(self._reached())
        self.places |= {f"/option_groups/{g}": self.group_places[group.id] for g, group in enumerate(groups)}
        own: dict[str, Any] = {"id": new_id(str(self.menu["name"]), ()), "language": "en"} | self.menu
        menu = Menu.model_construct(
            **own,
            sizes=tuple(self.sizes.values()),
            option_groups=groups,
            items=tuple(self.items),
            taxes=tuple(self.taxes.values()),
        )
        document = menu.model_dump(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
        return ImportedMenu(document, tuple(dict.fromkeys(self.lacking)), self.places)

    def _reached(self) -> Iterator[OptionGroup]:
        """The groups that items lead to, without what their options open below the deepest level."""
        levels = self._levels()
        for group in self.groups.values():
            place = self.group_places[group.id]
            if group.id not in levels:
                self.lack(place, f"the options “{group.name}”, which no item leads to")
            elif levels[group.id] == LEVELS and any(option.option_groups for option in group.options):
                self.lack(place, f"options inside those of “{group.name}”: too deep")
                plain = tuple(option.model_copy(update={"option_groups": ()}) for option in group.options)
                yield group.model_copy(update={"options": plain})
            else:
                yield group

    def _levels(self) -> dict[str, int]:
        """The deepest level at which each group is opened."""
        opened = {key for item in self.items for key in item.option_groups}
        levels: dict[str, int] = {}
        for level in range(1, LEVELS + 1):
            groups = [self.groups[key] for key in opened if key in self.groups]
            levels |= {group.id: level for group in groups}
            opened = {key for group in groups for option in group.options for key in option.option_groups}
        return levels


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not empty, of which a name stays for `Menu.read` to refuse."""
    return {key: value for key, value in fields.items() if key == "name" or value not in (None, "", (), {})}


def new_option(**fields: Any) -> Option:
    """An option, whose id its group gives it."""
    return Option.model_construct(**_filled(fields))


def either(hours: Iterable[Iterable[Hours]]) -> tuple[Hours, ...]:
    """When one of several menus is served; none where one of them always is."""
    known = [tuple(some) for some in hours]
    return tuple(dict.fromkeys(one for some in known for one in some)) if all(known) else ()


def new_id(name: str, taken: Collection[str]) -> str:
    """An id that reads like `name` and isn't taken: `oat-milk`, `oat-milk-2`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-") or "x"
    return next(i for i in (plain, *_numbered(f"{plain}-", taken)) if i not in taken)


def _numbered(name: str, taken: Collection[str]) -> list[str]:
    return [f"{name}{number}" for number in range(2, len(taken) + 3)]
