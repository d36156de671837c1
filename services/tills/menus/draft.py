"""A menu document under construction: what the readers of all formats share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from schemas.errors import InputError, InvalidMenu
from schemas.menu import Note, spoken_key
from schemas.menus.nesting import LEVELS
from schemas.wording import minor_units
from schemas.writable import one_line, whole_words
from services.tills.menus.source import Document, ImportedMenu, Node

MAX_TEXT = 500  # characters of a description
LACKING = "it requires options that can't be imported"  # in place of the id of a required group
Part = dict[str, Any]
"""A part of the document."""
Offer = tuple[str, int, str]
"""An item's size (or ""), its price in minor units, and the till's id."""
Hours = tuple[tuple[str, ...], str, str]
"""Days, start and end."""


@dataclass(slots=True)
class Draft:
    """A document under construction, which `Menu.read` checks later. `menu` has the menu's own fields."""

    source: Node
    menu: Document
    sizes: dict[str, Part] = field(default_factory=dict)
    """By spoken name."""
    groups: dict[str, Part] = field(default_factory=dict)
    items: list[Part] = field(default_factory=list)
    taxes: dict[Hashable, Part] = field(default_factory=dict)
    not_imported: list[Note] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    group_places: dict[str, dict[str, str]] = field(default_factory=dict)
    """By group id: places of the group ("") and its parts ("/options/0")."""
    built: dict[Hashable, str | None] = field(default_factory=dict)
    """Ids of groups by the source's keys."""

    def skip(self, place: str, what: str) -> None:
        self.not_imported.append((place, what))

    def leave_out(self, place: str, name: str, why: str) -> None:
        """List a part of the source that isn't imported, in place of everything below it."""
        self.source.left_out.add(place)
        self.skip(place, f"“{name}” is left out: {why}")

    def minor(self, amount: Decimal | str, place: str) -> int:
        """Return an amount in minor units. If it isn't a price, record a problem and return 0."""
        if not (currency := str(self.menu.get("currency") or "")):
            hint = "`saycart menu check`, `import` and `convert` take `--currency USD`; `convert` adds it."
            raise InputError("The file names no currency", hint=hint)
        try:
            return minor_units(str(amount), currency)
        except ValueError:
            self.source.problems.append((place, f"“{amount}” is not a price in {currency}, such as 4.50"))
            return 0

    def size(self, name: str, aliases: Iterable[str] = ()) -> str:
        """Return the id of the size with this name, adding the size or further aliases."""
        new = {"id": slug(name, [size["id"] for size in self.sizes.values()]), "name": name, "aliases": []}
        size = self.sizes.setdefault(spoken_key(name), new)
        size["aliases"] += [alias for alias in dict.fromkeys(aliases) if alias not in size["aliases"]]
        return str(size["id"])

    def tax(self, rate: str, *, included: bool, name: str = "", **fields: Any) -> str:
        """Return the id of the tax with this rate in percent, adding it if it is new."""
        name = name or f"Tax {rate}%"
        new = {"id": slug(name, [tax["id"] for tax in self.taxes.values()]), "name": name, "rate": rate}
        key = (name, rate, included, fields.get("ref"))
        return str(self.taxes.setdefault(key, new | {"included": included} | fields)["id"])

    def add_item(
        self,
        place: str,
        *,
        name: str,
        description: str = "",
        image: str = "",
        offers: Sequence[Offer] = (),
        **fields: Any,
    ) -> None:
        """Add an item, with its image if that is an https URL, and a description of at most `MAX_TEXT`."""
        if LACKING in fields.get("option_groups", ()):
            return self.leave_out(place, name, LACKING)
        text = " ".join(one_line(description).split())
        if len(text) > MAX_TEXT:
            self.skip(place, f"the end of the description of “{name}”")
        if image and not image.startswith("https://"):
            self.skip(place, f"the image of “{name}”, whose address doesn't begin with https://")
            image = ""
        if offers and offers[0][0] == "":
            fields["price"] = offers[0][1]
        else:
            sizes = [(self.size(size), price, ref) for size, price, ref in offers]
            fields.setdefault("prices", {size: price for size, price, _ in sizes})
            fields["size_refs"] = {size: ref for size, _, ref in sizes if ref}
        sku = slug(name, [item["sku"] for item in self.items])  # where `fields` have none
        own = {"sku": sku, "name": name, "description": whole_words(text, MAX_TEXT), "image": image}
        self.places[f"/items/{len(self.items)}"] = place
        self.items.append(_filled(own | fields))

    def groups_of(self, keys: Iterable[Hashable], build: Callable[[Any], str | None]) -> tuple[str, ...]:
        """Return the ids of the groups with these keys, building each once; a cycle ends where it began."""
        keys = list(dict.fromkeys(keys))
        for key in keys:
            if key not in self.built:
                self.built[key] = None
                self.built[key] = build(key)
        return tuple(group_id for key in keys if (group_id := self.built[key]))

    def add_group(
        self,
        place: str,
        *,
        name: str,
        options: Iterable[Part],
        item: str,
        defaults: Collection[str] = (),
        charged: bool = True,
        each: Iterable[int | None] = (),
        **fields: Any,
    ) -> str:
        """Add a group, and return its id; without options, `LACKING` if it is required, else "".

        `defaults` are the till's ids of options, or their names where they have no id. Where the till charges
        for defaults (`charged`), only free options can be defaults. `each` are the limits of single options.
        """
        if not (own := self._with_ids(options, place)):
            self.skip(place, f"the group “{name}”, which has no options that can be imported")
            return LACKING if fields.get("min") else ""
        wanted = [one for one in own if (one.get("ref") or one["name"]) in defaults]
        costly = [one for one in wanted if charged and one.get("price")]
        for one in costly:
            self.skip(place, f"“{one['name']}” isn't there by default, since it costs something")
        if len(limits := set(each)) > 1:
            self.skip(place, f"how often each option of “{name}” may be had")
        group_id = slug(name, self.groups)
        group = {
            "id": group_id,
            "name": self._unique(name, item),
            "min": 0,
            "max_each": limits.pop() if len(limits) == 1 else None,
            "defaults": [one["id"] for one in wanted if one not in costly],
        }
        self.groups[group_id] = _filled(group | fields | {"options": own})
        self.group_places[group_id] = {"": place}
        return group_id

    def _with_ids(self, options: Iterable[Part], place: str) -> list[Part]:
        """Return the options that can be had, with ids like their names and without empty fields."""
        by_id: dict[str, Part] = {}
        for option in options:
            if LACKING in option.get("option_groups", ()):
                self.skip(place, f"“{option['name']}” is left out: {LACKING}")
            else:
                option_id = slug(option["name"], by_id)
                by_id[option_id] = {"id": option_id, **_filled(option)}
        return list(by_id.values())

    def _unique(self, name: str, item: str) -> str:
        """Return a group's name; one that another group has, with the first `item` that has it."""
        taken = {spoken_key(other["name"]) for other in self.groups.values()}
        names = [name, f"{name} for {item}", *_numbered(f"{name} ", taken)]
        return next(one for one in names if spoken_key(one) not in taken)

    def finish(self, ignored: Collection[str] = ()) -> ImportedMenu:
        """Return the document. Unread fields of the source are listed as not imported, except `ignored` ones.

        Raises:
            InvalidMenu: with what couldn't be read of the source.
        """
        if self.source.problems:
            raise InvalidMenu(list(dict.fromkeys(self.source.problems)))
        self.not_imported += self.source.unread(ignored)
        groups = list(self._reachable())
        for g, group in enumerate(groups):
            places = self.group_places[group["id"]]
            self.places |= {f"/option_groups/{g}{part}": place for part, place in places.items()}
        document = {
            "id": slug(str(self.menu["name"]), ()),
            "language": "en",
            **self.menu,
            "sizes": list(self.sizes.values()),
            "option_groups": groups,
            "items": self.items,
            "taxes": list(self.taxes.values()),
        }
        plain = json.loads(json.dumps(document))  # lists, not tuples
        return ImportedMenu(plain, tuple(dict.fromkeys(self.not_imported)), self.places)

    def _reachable(self) -> Iterator[Part]:
        """Yield the groups that items lead to, without options nested too deep."""
        levels, opened = dict[str, int](), _opened(self.items)
        for level in range(1, LEVELS + 1):
            levels |= dict.fromkeys(opened, level)
            opened = _opened(option for key in opened for option in self.groups[key]["options"])
        for group_id, group in self.groups.items():
            place = self.group_places[group_id][""]
            if group_id not in levels:
                self.skip(place, f"the options “{group['name']}”, which no item leads to")
                continue
            if levels[group_id] == LEVELS and any([one.pop("option_groups", ()) for one in group["options"]]):
                self.skip(place, f"options inside those of “{group['name']}”: too deep")
            yield group


def _opened(parts: Iterable[Part]) -> set[str]:
    """Return the ids of the groups that items or options open."""
    return {group_id for part in parts for group_id in part.get("option_groups", ())}


def _filled(fields: Mapping[str, Any]) -> Part:
    """Drop empty fields, except a name, which `Menu.read` refuses."""
    return {
        key: value for key, value in fields.items() if key == "name" or value not in (None, "", (), [], {})
    }


def either(schedules: Iterable[Iterable[Hours]]) -> list[Part]:
    """Return the hours of several menus together; empty if one of them is always served."""
    served = list(map(tuple, schedules))
    hours = dict.fromkeys(one for some in served for one in some) if all(served) else ()
    return [{"days": days, "start": start, "end": end} for days, start, end in hours]


def slug(name: str, taken: Collection[str]) -> str:
    """Return an id that reads like `name` and isn't taken: `oat-milk`, `oat-milk-2`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-") or "x"
    return next(i for i in (plain, *_numbered(f"{plain}-", taken)) if i not in taken)


def _numbered(name: str, taken: Collection[str]) -> list[str]:
    return [f"{name}{number}" for number in range(2, len(taken) + 3)]
