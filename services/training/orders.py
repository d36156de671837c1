"""All orders with known carts, by menu: what the reader learns from, is tuned on, and is scored with.

Split by menu, so that what is scored is never a menu that was learned. The sealed part is only ever scored:
nothing here prints its rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemas.menu import Menu
from services.engines.reader.short_form import Line, Names
from services.training.notation import read_menu, read_orders

ROOT = Path(__file__).parents[2]
TOLD = ROOT / "tests" / "told"
JSON_MENUS = (ROOT / "infra/samples/menus", ROOT / "tests/spoken/menus", TOLD / "menus")
GOLDEN = ROOT / "tests" / "golden"
SAMPLES = ("harbor-coffee", "copper-skillet")
# Letters of tests/told that are only ever scored.
SCORED = frozenset("kqx")
# Menus of tests/told/taught that thresholds are tuned on and adapters chosen by, one of each writer.
TUNED = frozenset(json.loads((Path(__file__).parent / "split.json").read_text())["tune"])

Part = Literal["train", "tune", "sealed", "scored", "golden"]


@dataclass(frozen=True, slots=True)
class Row:
    """One order: which set it is of, what was said, and the lines that are meant, without `heard`."""

    id: str
    source: str
    said: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Shop:
    """A menu and its orders."""

    menu: Menu
    names: Names
    rows: list[Row]


def shops(part: Part) -> list[Shop]:
    """The menus of one part, with their orders, in a fixed order."""
    if part == "sealed":
        return list(_written(TOLD / "sealed"))
    if part == "tune":
        return [shop for shop in _written(TOLD / "taught") if shop.menu.id in TUNED]
    taught = [] if part != "train" else [s for s in _written(TOLD / "taught") if s.menu.id not in TUNED]
    return [*taught, *_told(part)]


def _written(folder: Path) -> Iterator[Shop]:
    for file in sorted(folder.glob("*/*.menu")):
        orders_file = file.with_suffix(".orders")
        if not orders_file.exists():
            continue
        menu = read_menu(file)
        orders, _ = read_orders(orders_file, menu)
        source = f"{folder.name}/{file.parent.name}"
        yield Shop(
            menu,
            Names(menu),
            [Row(f"{menu.id}-{n}", source, o.said, o.lines) for n, o in enumerate(orders)],
        )


def _told(part: Part) -> Iterator[Shop]:
    files = sorted(file for folder in JSON_MENUS for file in folder.glob("*.json"))
    for file in files:
        menu = Menu.parse(json.loads(file.read_text()))
        rows = []
        for told in sorted(TOLD.glob(f"{menu.id}-?.jsonl")):
            letter = told.stem[-1]
            if part in ("train", "scored") and (letter in SCORED) == (part == "scored"):
                rows += list(_rows(told, f"told/{letter}"))
        if menu.id in SAMPLES and part in ("train", "golden"):
            half = "tuned" if part == "train" else "sealed"
            rows += list(_rows(GOLDEN / f"{menu.id}-{half}.jsonl", f"golden/{half}"))
        if rows or part == "train":
            yield Shop(menu, Names(menu), rows)


def _rows(file: Path, source: str) -> Iterator[Row]:
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if row.get("utterance"):
            yield Row(row["id"], source, row["utterance"], row["cart"]["lines"])


def generated(shop: Shop, number: int, seed: int) -> list[Row]:
    """Orders that a generator says, their carts right by construction (`tests/spoken`)."""
    from tests.spoken.speaker import Speaker

    dice = random.Random(f"{seed} {shop.menu.id}")  # noqa: S311 - repeatable draws, no secret
    rows = []
    for n in range(number):
        try:
            said, lines = Speaker(shop.menu, dice).order()
        except (IndexError, ValueError):  # a menu without what the generator wants to say
            continue
        rows.append(Row(f"{shop.menu.id}-g{n}", "generated", said, lines))
    return rows
