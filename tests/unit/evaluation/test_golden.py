"""The evaluation sets and the demo's samples are consistent."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.compare import canonical
from schemas.menu import Menu, spoken_key
from services.learning.training.notation import read_menu, read_orders
from services.learning.training.orders import shops
from services.validation.facts import check_facts

GOLDEN = REPOSITORY / "tests" / "golden"
MENUS = {
    name: Menu.parse(json.loads((REPOSITORY / "infra/samples/menus" / f"{name}.json").read_text()))
    for name in ("harbor-coffee", "copper-skillet")
}
HALVES = ("tuned", "sealed")

Row = dict[str, Any]


def rows(menu: str, half: str) -> list[Row]:
    lines = (GOLDEN / f"{menu}-{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def of_half(half: str) -> list[Row]:
    return [row for menu in MENUS for row in rows(menu, half)]


def listed(folder: Path) -> dict[str, Row]:
    """Return the recordings of a manifest by name, after comparing each with its file."""
    recordings = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["recordings"]
    for entry in recordings:
        raw = (folder / entry["file"]).read_bytes()
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (entry["bytes"], entry["sha256"]), entry["file"]
        assert "Apache-2.0" in (entry["licence"] or "Apache-2.0, as nobody speaks")
    return {entry["file"]: entry for entry in recordings}


def doubts(row: Row) -> set[str]:
    """Return the blocking findings of a gold cart by its menu; off-menu words must be in the utterance."""
    lines = [{"kind": "item", "heard": row["utterance"][:100], **line} for line in row["cart"]["lines"]]
    draft = CartDraft.model_validate({"lines": lines})
    assert all(line.heard in row["utterance"] for line in draft.lines)
    return {finding.code for finding in check_facts(draft, MENUS[row["menu"]]) if finding.blocks}


@pytest.mark.parametrize("menu", MENUS)
@pytest.mark.parametrize("half", HALVES)
def test_every_cart_can_be_ordered_from_its_menu(menu: str, half: str) -> None:
    gold = rows(menu, half)
    assert {row["menu"] for row in gold} == {menu}
    assert set().union(*map(doubts, gold)) <= {"not_on_menu", "empty_cart", "item_unavailable"}


def test_the_halves_are_of_one_mix_and_share_no_sentence() -> None:
    tuned, sealed = of_half("tuned"), of_half("sealed")
    for what in ("level", "menu"):
        assert Counter(row[what] for row in tuned) == Counter(row[what] for row in sealed)
    assert Counter(tag for row in tuned for tag in row["tags"]) == Counter(
        tag for row in sealed for tag in row["tags"]
    )
    said = [spoken_key(row["utterance"]) for row in tuned + sealed]
    assert not [text for text, times in Counter(said).items() if times > 1]


def test_recordings_are_those_of_the_gold_files() -> None:
    spoken = {row["audio"]: row for row in of_half("tuned") + of_half("sealed") if "audio" in row}
    entries = listed(GOLDEN / "audio")
    assert set(spoken) == set(entries) == {path.name for path in (GOLDEN / "audio").glob("*.opus")}
    for name, row in spoken.items():
        entry = entries[name]
        assert name == f"{row['id']}.opus"
        assert entry["text"] == row["speech"].get("text", row["utterance"])
        assert (entry["voice"], entry["speed"]) == (row["speech"]["voice"], row["speech"]["speed"])
    assert listed(GOLDEN / "babble")


def test_what_is_spoken_of_strangers_are_their_orders() -> None:
    known = {row.id: (shop.menu.id, row) for shop in shops("sealed") for row in shop.rows}
    for spoken in map(json.loads, (REPOSITORY / "tests/orders/sealed/spoken.jsonl").read_text().splitlines()):
        menu, row = known[spoken["id"]]
        # A failure must not print them: these rows are sealed.
        assert (spoken["utterance"] == row.utterance, spoken["menu"] == menu) == (True, True)
        assert (canonical(spoken["cart"]["lines"]) == canonical(row.lines)) is True


RECORDINGS = REPOSITORY / "infra" / "samples" / "recordings"
SPANISH, ORDERS = REPOSITORY / "infra" / "samples" / "spanish", REPOSITORY / "tests" / "orders" / "spanish"


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
    assert menu == read_menu(ORDERS / f"{file.stem}.menu")
    assert menu.language == "es"


def test_spanish_recordings_mean_what_was_told() -> None:
    for row in gold(SPANISH / "recordings"):
        orders, _ = read_orders(ORDERS / f"{row['menu']}.orders", read_menu(ORDERS / f"{row['menu']}.menu"))
        told = orders[int(row["id"].rpartition("-")[2]) - 1]
        assert (told.utterance, canonical(told.lines)) == (row["utterance"], canonical(row["cart"]["lines"]))
