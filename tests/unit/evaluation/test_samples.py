"""The samples that the demo rests on agree with each other; the Spanish ones are the told orders, spoken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.menu import Menu
from services.learning.training.notation import read_menu, read_orders
from tests.unit.evaluation.test_golden import Row, doubts, listed

RECORDINGS = REPOSITORY / "infra" / "samples" / "recordings"
SPANISH, TOLD = REPOSITORY / "infra" / "samples" / "spanish", REPOSITORY / "tests" / "told" / "es"


def gold(folder: Path) -> list[Row]:
    return [json.loads(line) for line in (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", gold(RECORDINGS), ids=lambda row: str(row["id"]))
def test_gold_can_be_ordered_from_its_menu(row: Row) -> None:
    may_be = {"accept": set[str](), "review": {"not_on_menu", "empty_cart"}}
    assert doubts(row) <= may_be[row["expect"]]


@pytest.mark.parametrize("folder", [RECORDINGS, SPANISH / "recordings"], ids=["English", "Spanish"])
def test_recordings_are_the_ones_in_the_manifest(folder: Path) -> None:
    entries, rows = listed(folder), gold(folder)
    assert {path.name for path in folder.glob("*.flac")} == set(entries) == {row["audio"] for row in rows}
    assert [entries[row["audio"]]["text"] for row in rows] == [row["utterance"] for row in rows]


@pytest.mark.parametrize("file", sorted((SPANISH / "menus").glob("*.json")), ids=lambda file: str(file.stem))
def test_a_spanish_menu_is_the_one_that_the_orders_were_told_of(file: Path) -> None:
    menu = Menu.parse(json.loads(file.read_text(encoding="utf-8")))
    assert menu == read_menu(TOLD / f"{file.stem}.menu")
    assert menu.language == "es"


def test_spanish_recordings_mean_what_was_told() -> None:
    for row in gold(SPANISH / "recordings"):
        orders, _ = read_orders(TOLD / f"{row['menu']}.orders", read_menu(TOLD / f"{row['menu']}.menu"))
        told = orders[int(row["id"].rpartition("-")[2]) - 1]
        assert (told.utterance, canonical(told.lines)) == (row["utterance"], canonical(row["cart"]["lines"]))
