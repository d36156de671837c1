"""The gate's sets of orders: text by strangers, golden text, and recordings, clean and in babble.

Rows of sealed sets are counted, never shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from schemas.compare import canonical
from schemas.menu import Menu
from services.learning.training.notation import read_menu
from services.learning.training.orders import GOLDEN, ORDER_SETS, ROOT, SAMPLES, Part, shops

MENUS = ROOT / "infra" / "samples" / "menus"
STRANGERS = ORDER_SETS / "sealed"
BABBLE_DB = 5

Source = Literal["written", "golden", "strangers", "people"]


@dataclass(frozen=True, slots=True)
class Order:
    """An order: its menu and a gold row of `saycart eval`. `id` is unique in its set."""

    id: str
    menu: Menu
    gold: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GateSet:
    """A set of orders: the text of a `part`, or recordings from a `source`, optionally in babble."""

    name: str
    sealed: bool
    part: Part | None = None
    source: Source = "written"
    babble: bool = False

    @property
    def spoken(self) -> bool:
        return self.part is None

    def orders(self, people: Path | None) -> list[Order]:
        """Return its orders in a fixed order; none if its files are missing."""
        orders = list(self._orders(people))
        assert len({order.id for order in orders}) == len(orders), f"{self.name}: duplicate id"
        return orders

    def _orders(self, people: Path | None) -> Iterator[Order]:
        if self.part is not None:
            yield from _written(self.part)
        elif self.source == "people":
            yield from _people(people) if people else ()
        else:
            yield from _golden() if self.source == "golden" else _strangers()

    def recordings(self, people: Path | None) -> Path:
        """Return the folder of its clean recordings."""
        folders = {"golden": GOLDEN, "strangers": STRANGERS, "people": people or Path()}
        return folders[self.source] / "audio"


# In recording order.
SETS = (
    GateSet("sealed", sealed=True, part="sealed"),
    GateSet("held-out", sealed=True, part="held-out"),
    GateSet("golden", sealed=True, part="golden"),
    GateSet("people", sealed=False, source="people"),
    GateSet("tune", sealed=False, part="tune"),
    GateSet("scored", sealed=False, part="scored"),
    GateSet("golden-clean", sealed=True, source="golden"),
    GateSet("strangers-clean", sealed=True, source="strangers"),
    GateSet("golden-babble", sealed=True, source="golden", babble=True),
    GateSet("strangers-babble", sealed=True, source="strangers", babble=True),
)


def chosen(names: Sequence[str]) -> list[GateSet]:
    """Return the sets with these names, or all. Raises SystemExit for an unknown name."""
    by_name = {one.name: one for one in SETS}
    if unknown := set(names) - by_name.keys():
        raise SystemExit(f"No such set: {', '.join(sorted(unknown))}. Sets: {', '.join(by_name)}.")
    return [by_name[name] for name in names] or list(SETS)


def _written(part: Part) -> Iterator[Order]:
    for shop in shops(part):
        for row in shop.rows:
            gold = {"id": row.id, "utterance": row.utterance, "cart": {"lines": row.lines}}
            yield Order(f"{shop.menu.id}/{row.id}", shop.menu, gold)


def _golden() -> Iterator[Order]:
    for name in SAMPLES:
        menu = Menu.parse(json.loads((MENUS / f"{name}.json").read_text()))
        yield from _spoken(GOLDEN / f"{name}-sealed.jsonl", {name: menu})


def _strangers() -> Iterator[Order]:
    menus = {file.stem: read_menu(file) for file in sorted(STRANGERS.glob("*/*.menu"))}
    yield from _spoken(STRANGERS / "spoken.jsonl", menus)


def _people(folder: Path) -> Iterator[Order]:
    menu = Menu.parse(json.loads((folder / "menu.json").read_text()))
    for row in _rows(folder / "gold.jsonl"):
        yield Order(row["id"], menu, row)


def _spoken(file: Path, menus: dict[str, Menu]) -> Iterator[Order]:
    for row in _rows(file):
        if row.get("audio"):
            yield Order(f"{row['menu']}/{row['id']}", menus[row["menu"]], row)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def gold_cart(order: Order) -> Any:
    """Return an order's gold cart in the form in which carts are compared."""
    return canonical(order.gold["cart"]["lines"])
