"""The orders of the benches: tuned golden text and the shipped samples, never the sealed half."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schemas.menu import Menu
from schemas.writable import clean

ROOT = Path(__file__).resolve().parents[2]
SETS = (
    "tests/golden/harbor-coffee-tuned.jsonl",
    "tests/golden/copper-skillet-tuned.jsonl",
    "infra/samples/recordings/gold.jsonl",
)


@dataclass(frozen=True, slots=True)
class Order:
    """One order: what was said, the menu it is read against, and the gold cart as draft lines."""

    id: str
    said: str
    menu: Menu
    gold: list[dict[str, Any]]


@cache
def menu_of(name: str) -> Menu:
    return Menu.parse(json.loads((ROOT / "infra" / "samples" / "menus" / f"{name}.json").read_text()))


def sample(count: int, sets: Sequence[str] = SETS) -> list[Order]:
    """`count` orders at even steps through all `sets`, so each level of difficulty has its share.

    Always the same ones for the same count; all of them when `count` is larger.
    """
    rows = [json.loads(line) for name in sets for line in (ROOT / name).read_text().splitlines()]
    count = min(count, len(rows))
    picked = [rows[int((i + 0.5) * len(rows) / count)] for i in range(count)]
    return [
        Order(row["id"], clean(row["utterance"]), menu_of(row["menu"]), row["cart"]["lines"])
        for row in picked
    ]
