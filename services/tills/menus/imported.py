"""A menu from another system: our document, what it lacks of the source, and where its parts stood there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal

from pydantic import JsonValue

from schemas.errors import InputError, InvalidMenu
from schemas.menu import Item, Menu, Note, Option, OptionGroup, Size, Tax, spoken_key
from schemas.menus.hours import Hours
from schemas.menus.nesting import LEVELS
from schemas.wording import minor_units
from schemas.writable import one_line, whole_words
from services.tills.menus.source import Source, unread

MAX_TEXT = 500  # characters of a description
Document = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller says of the menu, in place of what the file says."""

    id: str | None = None
    name: str | None = None
    currency: str | None = None
    language: str | None = None
    time_zone: str | None = None

    def over(self, document: Document) -> Document:
        return document | {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class ImportedMenu:
    """`document` is unchecked; `lacking` has (place in the source, what wasn't imported); `places` says
    where in the source a JSON pointer of the document stood."""

    document: Document
    lacking: tuple[Note, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, path: str) -> str:
        """Where a JSON pointer of the document stands in the source, as far as that is known."""
        parts = path.split("/")
        for end in range(len(parts), 1, -1):
            if known := self.places.get("/".join(parts[:end])):
                rest = "/".join(parts[end:])
                return f"{known} ({rest})" if rest else known
        return path


@dataclass(slots=True)
class Draft:
    """A document under construction. Parts are made by `model_construct`: `Menu.read` checks the whole."""

    given: Given
    id: str = ""
    name: str = ""
    currency: str = ""
    ref: str | None = None
    language: str | None = None
    time_zone: str | None = None
    sizes: list[Size] = field(default_factory=list)
    groups: list[OptionGroup] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    taxes: list[Tax] = field(default_factory=list)
    lacking: list[Note] = field(default_factory=list)
    problems: list[Note] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    group_places: dict[str, str] = field(default_factory=dict)
    """By group id."""

    def lack(self, place: str, what: str) -> None:
        self.lacking.append((place, what))

    def lack_fields(self, document: object, read: type[Source], ignored: Collection[str]) -> None:
        """List the values of the source that nothing reads, each field once."""
        places: dict[str, list[str]] = {}
        for place, name in unread(document, {*read.known_names(), *ignored}):
            places.setdefault(name, []).append(place)
        for name, found in places.items():
            more = f", nor have {len(found) - 1} more like it" if len(found) > 1 else ""
            self.lack(found[0], f"`{name}` has no place in the menu file{more}")

    def minor(self, amount: Decimal | str | int, place: str) -> int:
        """An amount in minor units; a problem, and 0, where it isn't one."""
        currency = self.given.currency or self.currency
        if not currency:
            raise InputError("The file names no currency", hint="Add one, such as --currency USD.")
        try:
            return minor_units(str(amount), currency)
        except ValueError:
            self.problems.append((place, f"“{amount}” is not a price in {currency}, such as 4.50"))
            return 0

    def size(self, name: str, aliases: tuple[str, ...] = ()) -> str:
        """The id of the size with this name, which is added once."""
        known = next((size for size in self.sizes if spoken_key(size.name) == spoken_key(name)), None)
        if known is None:
            size_id = new_id(name, [size.id for size in self.sizes])
            known = Size.model_construct(id=size_id, name=name, aliases=aliases)
            self.sizes.append(known)
        return known.id

    def tax(self, rate: str, *, included: bool, name: str = "", ref: str | None = None) -> str:
        """The id of the tax with this rate, in percent, which is added once."""
        known = next((t for t in self.taxes if (t.rate, t.included, t.ref) == (rate, included, ref)), None)
        if known is None:
            name = name or f"Tax {rate}%"
            tax_id = new_id(name, [tax.id for tax in self.taxes])
            known = Tax.model_construct(id=tax_id, name=name, rate=rate, included=included, ref=ref)
            self.taxes.append(known)
        return known.id

    def add_item(self, item: Item, place: str) -> None:
        """Add an item; its sku is made here, its description and image are brought into form."""
        line = " ".join(one_line(item.description or "").split())
        if len(line) > MAX_TEXT:
            self.lack(place, f"the end of the description of “{item.name}”")
        fitting = {
            "sku": item.sku or new_id(item.name, [item.sku for item in self.items]),
            "description": whole_words(line, MAX_TEXT) or None,
            "image": item.image if (item.image or "").startswith("https://") else None,
        }
        self.places[f"/items/{len(self.items)}"] = place
        self.items.append(item.model_copy(update=fitting))

    def add_group(self, group: OptionGroup, place: str, item: str, *, charged: bool = False) -> OptionGroup:
        """Add a group; its ids are made here, and a name that tells it from others.

        Its `defaults` are the till's ids of options, or the names of those without one. Where the till
        charges for defaults (`charged`), only options that cost nothing can be any.
        """
        ids: list[str] = []
        for option in group.options:
            ids.append(new_id(option.name, ids))
        options = [option.model_copy(update={"id": i}) for option, i in zip(group.options, ids, strict=True)]
        wanted = [option for option in options if (option.ref or option.name) in group.defaults]
        defaults = [option.id for option in wanted if not charged or self.is_free(option, place)]
        taken = {spoken_key(other.name) for other in self.groups}
        numbered = (f"{group.name} {n}" for n in range(2, len(taken) + 3))
        names = [group.name, f"{group.name} for {item}", *numbered]
        fitting = {
            "id": new_id(group.name, [other.id for other in self.groups]),
            "name": next(name for name in names if spoken_key(name) not in taken),
            "options": tuple(options),
            "defaults": tuple(defaults),
        }
        made = group.model_copy(update=fitting)
        self.groups.append(made)
        self.group_places[made.id] = place
        return made

    def is_free(self, option: Option, place: str) -> bool:
        """Whether an option may be a default, which costs nothing; lists one that may not."""
        if option.price:
            self.lack(place, f"“{option.name}” isn't there by default, since it costs something")
        return not option.price

    def finish(self) -> ImportedMenu:
        """The document. Raises InvalidMenu with what couldn't be read of the source."""
        if self.problems:
            raise InvalidMenu(self.problems)
        groups = tuple(self._reached())
        self.places |= {f"/option_groups/{g}": self.group_places[group.id] for g, group in enumerate(groups)}
        menu = Menu.model_construct(
            id=self.id or new_id(self.given.name or self.name, ()),
            name=self.name,
            currency=self.currency,
            language=self.language or "en",
            sizes=tuple(self.sizes),
            option_groups=groups,
            items=tuple(self.items),
            taxes=tuple(self.taxes),
            time_zone=self.time_zone,
            ref=self.ref,
        )
        document = menu.model_dump(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
        return ImportedMenu(self.given.over(document), tuple(dict.fromkeys(self.lacking)), self.places)

    def _reached(self) -> Iterator[OptionGroup]:
        """The groups that items lead to, without what their options open below the deepest level."""
        known = {group.id: group for group in self.groups}
        levels: dict[str, int] = {}

        def follow(ids: Iterable[str], level: int) -> None:
            for group_id in ids:
                if group_id in known and levels.get(group_id, 0) < level <= LEVELS:
                    levels[group_id] = level
                    for option in known[group_id].options:
                        follow(option.option_groups, level + 1)

        follow((group_id for item in self.items for group_id in item.option_groups), 1)
        for group in self.groups:
            if levels.get(group.id) == LEVELS and any(option.option_groups for option in group.options):
                self.lack(self.group_places[group.id], f"options inside those of “{group.name}”: too deep")
                options = [option.model_copy(update={"option_groups": ()}) for option in group.options]
                yield group.model_copy(update={"options": tuple(options)})
            elif group.id in levels:
                yield group
            else:
                self.lack(self.group_places[group.id], f"the options “{group.name}”, which no item leads to")


def either(hours: Iterable[Iterable[Hours]]) -> tuple[Hours, ...]:
    """When one of several menus is served; none where one of them always is."""
    known = [tuple(some) for some in hours]
    return tuple(dict.fromkeys(one for some in known for one in some)) if all(known) else ()


def new_id(name: str, taken: Collection[str]) -> str:
    """An id that reads like `name` and isn't taken: `oat-milk`, `oat-milk-2`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-") or "x"
    return next(i for i in (plain, *(f"{plain}-{n}" for n in range(2, len(taken) + 3))) if i not in taken)
