"""A menu: what can be ordered, under which names, at which price. The only source of prices.

Money is an integer number of minor units (cents). A document is checked whole: `Menu.parse` raises
`InvalidMenu` with a JSON pointer for each problem, so that they can be fixed all at once. Names clash
only between different things: a name that repeats one of the same thing is dropped, and `Menu.read` says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from schemas.errors import InvalidMenu
from schemas.field_problems import MAX_PROBLEMS, field_problems
from schemas.writable import only_printed

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")]
Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(only_printed)
]
Money = Annotated[int, Field(ge=0, le=100_000_00, description="minor units of the menu's currency")]


# A JSON pointer into the document as it came, and a sentence.
Note = tuple[str, str]

# What one menu may hold, all together; llguidance gives up at about 4,000 options.
MAX_ITEMS, MAX_SIZES, MAX_GROUPS, MAX_OPTIONS, MAX_NAMES, MAX_OFFERS = 10_000, 200, 500, 3_000, 30_000, 50_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Size(_Part):
    """One size that items may be priced in."""

    id: Id
    name: Name
    aliases: tuple[Name, ...] = ()


class Option(_Part):
    """One choice of a group; `price` is added per unit when the option is in the cart."""

    id: Id
    name: Name
    aliases: tuple[Name, ...] = ()
    price: Money = 0
    available: bool = True


class OptionGroup(_Part):
    """A set of options. `required` groups must have one in the cart, or the order is asked about; those with
    `halves` may be wanted on one half of the item only, as toppings of a pizza are."""

    id: Id
    name: Name
    choose: Literal["one", "many"] = "one"
    required: bool = False
    halves: bool = False
    options: tuple[Option, ...] = Field(min_length=1)


class Item(_Part):
    """One thing on the menu, priced either by `price` or by `prices` per size.

    `default_size` is what an order without a size gets, with a finding; without it the order is asked
    about, unless every size costs the same.
    """

    sku: Id
    name: Name
    category: Name = "other"
    aliases: tuple[Name, ...] = ()
    price: Money | None = None
    prices: dict[Id, Money] | None = None
    default_size: Id | None = None
    option_groups: tuple[Id, ...] = ()
    available: bool = True
    max_quantity: int = Field(default=20, ge=1, le=999)

    @property
    def size_ids(self) -> tuple[str, ...]:
        """Sizes that this item is priced in, in the menu's order of writing; empty when unsized."""
        return tuple(self.prices or ())


class Menu(_Part):
    """A whole menu document, immutable once imported; an order keeps the version it began with."""

    id: Id
    name: Name
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "en"
    sizes: tuple[Size, ...] = ()
    option_groups: tuple[OptionGroup, ...] = ()
    items: tuple[Item, ...] = Field(min_length=1)

    @classmethod
    def parse(cls, document: Any) -> Menu:
        """Build a menu from parsed JSON; what `read` gives without its notes. Raises InvalidMenu."""
        return cls.read(document)[0]

    @classmethod
    def read(cls, document: Any) -> tuple[Menu, tuple[Note, ...]]:
        """Build a menu from parsed JSON, tidied, and tell what was dropped on the way.

        Raises:
            InvalidMenu: wrong shape, or references and names that contradict each other.
        """
        try:
            menu = cls.model_validate(document)
        except ValidationError as error:
            raise InvalidMenu([(place or "/", text) for place, text in field_problems(error)]) from None
        problems = _too_many(menu) or _contradictions(menu)
        if problems:
            raise InvalidMenu(problems[:MAX_PROBLEMS])
        return _tidied(menu)

    def item(self, sku: str) -> Item | None:
        return next((item for item in self.items if item.sku == sku), None)

    def group(self, group_id: str) -> OptionGroup | None:
        return next((group for group in self.option_groups if group.id == group_id), None)

    def size(self, size_id: str) -> Size | None:
        return next((size for size in self.sizes if size.id == size_id), None)

    def offered(self, item: Item) -> list[tuple[OptionGroup, Option]]:
        """Every option that an item comes with, in the menu's order, available or not."""
        return [(g, o) for g in self.option_groups if g.id in item.option_groups for o in g.options]


def spoken_key(name: str) -> str:
    """Fold a name to what can be told apart by ear: case, punctuation, spacing and the way in which an accent
    is spelled do not count."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold()))


def _repeats(part: Size | Option | Item) -> dict[int, str]:
    """Which aliases read like a name that the same thing has before them, each with that name."""
    known = {_read(part.name): part.name}
    found = {}
    for index, alias in enumerate(part.aliases):
        first = known.setdefault(_read(alias), alias)
        if first is not alias:
            found[index] = first
    return found


def _read(name: str) -> str:
    """Finer than `spoken_key`: a sign that is read as a word is one ("mac & cheese" is not "mac cheese")."""
    signs = re.sub(r"[%&+#@$€£]", lambda sign: f" _{ord(sign[0])} ", name)
    return spoken_key(signs)


def _tidied(menu: Menu) -> tuple[Menu, tuple[Note, ...]]:
    """The menu with each name of a thing once, and what was dropped."""
    notes: list[Note] = []

    def tidy(parts: Any, root: str) -> Iterator[Any]:
        for index, part in enumerate(parts):
            repeats = _repeats(part)
            for a, first in repeats.items():
                note = f"“{part.aliases[a]}” reads like “{first}”, so it was dropped"
                notes.append((f"{root}/{index}/aliases/{a}", note))
            kept = tuple(alias for a, alias in enumerate(part.aliases) if a not in repeats)
            yield part.model_copy(update={"aliases": kept}) if repeats else part

    sizes = tuple(tidy(menu.sizes, "/sizes"))
    groups = tuple(
        group.model_copy(update={"options": tuple(tidy(group.options, f"/option_groups/{g}/options"))})
        for g, group in enumerate(menu.option_groups)
    )
    items = tuple(tidy(menu.items, "/items"))
    tidied = menu.model_copy(update={"sizes": sizes, "option_groups": groups, "items": items})
    return (tidied if notes else menu), tuple(notes)


def _too_many(menu: Menu) -> list[Note]:
    """What there is more of than one menu may hold. Stored menus are not asked: they were small enough for
    the release that stored them."""
    options = [option for group in menu.option_groups for option in group.options]
    named: list[Size | Option | Item] = [*menu.sizes, *options, *menu.items]
    counted = (
        ("/items", "items", len(menu.items), MAX_ITEMS),
        ("/sizes", "sizes", len(menu.sizes), MAX_SIZES),
        ("/option_groups", "option groups", len(menu.option_groups), MAX_GROUPS),
        ("/option_groups", "options in all groups together", len(options), MAX_OPTIONS),
        ("/", "names and aliases in all", sum(1 + len(part.aliases) for part in named), MAX_NAMES),
        ("/items", "option groups of all items", sum(len(i.option_groups) for i in menu.items), MAX_OFFERS),
    )
    return [
        (path, f"has {number} {what}, and at most {most} are taken; split the menu in two")
        for path, what, number, most in counted
        if number > most
    ]


def _contradictions(menu: Menu) -> list[Note]:
    """Everything that the shape alone can't forbid, as (JSON pointer, sentence)."""
    problems = _told_twice(menu)
    size_ids = {size.id for size in menu.sizes}
    group_ids = {group.id for group in menu.option_groups}
    for i, item in enumerate(menu.items):
        path = f"/items/{i}"
        problems += [*_priced_wrongly(item, path, size_ids), *_grouped_wrongly(item, path, group_ids)]
    return problems


def _told_twice(menu: Menu) -> list[Note]:
    """Ids, names and aliases of two things that are the same, or that are unspeakable."""
    sizes, groups, items = menu.sizes, menu.option_groups, menu.items
    problems = [
        *_clashes([(f"/sizes/{i}/id", size.id) for i, size in enumerate(sizes)], "size id"),
        *_clashes(_names_of(sizes, "/sizes"), "size name or alias"),
        *_clashes([(f"/option_groups/{i}/id", group.id) for i, group in enumerate(groups)], "group id"),
        *_clashes(
            [(f"/option_groups/{i}/name", spoken_key(group.name)) for i, group in enumerate(groups)],
            "group name",
        ),
    ]
    for g, group in enumerate(groups):
        root = f"/option_groups/{g}/options"
        ids = [(f"{root}/{i}/id", option.id) for i, option in enumerate(group.options)]
        problems += _clashes(ids, "option id")
        problems += _clashes(_names_of(group.options, root), "option name or alias")
    problems += _clashes([(f"/items/{i}/sku", item.sku) for i, item in enumerate(items)], "sku")
    return problems + _clashes(_names_of(items, "/items"), "item name or alias")


def _clashes(values: list[tuple[str, str]], what: str) -> list[Note]:
    problems: list[Note] = []
    seen: dict[str, str] = {}
    for path, value in values:
        if not value:
            problems.append((path, f"{what} has no letters or digits"))
        elif value in seen:
            problems.append((path, f"{what} {value!r} is already used at {seen[value]}"))
        else:
            seen[value] = path
    return problems


def _names_of(parts: Any, root: str) -> list[tuple[str, str]]:
    """Where each name and alias stands, and how it is said."""
    found = []
    for index, part in enumerate(parts):
        # Names of one thing don't clash with each other, so each way to say it counts once.
        own = {spoken_key(part.name): f"{root}/{index}/name"}
        for a, alias in enumerate(part.aliases):
            own.setdefault(spoken_key(alias), f"{root}/{index}/aliases/{a}")
        found += [(path, key) for key, path in own.items()]
    return found


def _priced_wrongly(item: Item, path: str, size_ids: set[str]) -> Iterator[Note]:
    if (item.price is None) == (item.prices is None):
        yield path, "give either `price` or `prices`, not both and not neither"
    if item.prices is not None and not item.prices:
        yield f"{path}/prices", "name at least one size, or use `price`"
    for size_id in item.size_ids:
        if size_id not in size_ids:
            yield f"{path}/prices/{size_id}", f"no size {size_id!r} in `sizes`"
    if item.default_size is not None and item.default_size not in item.size_ids:
        yield f"{path}/default_size", "must be one of the item's own sizes"


def _grouped_wrongly(item: Item, path: str, group_ids: set[str]) -> Iterator[Note]:
    for g, group_id in enumerate(item.option_groups):
        if group_id not in group_ids:
            yield f"{path}/option_groups/{g}", f"no group {group_id!r}"
    if len(set(item.option_groups)) != len(item.option_groups):
        yield f"{path}/option_groups", "a group is named twice"
