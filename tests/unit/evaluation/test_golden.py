"""The evaluation sets hold what they promise."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.menu import Menu, spoken_key
from services.learning.training.orders import shops
from services.learning.training.score import cart_of
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


def every_row() -> list[Row]:
    return [row for menu in MENUS for half in HALVES for row in rows(menu, half)]


def of_half(half: str) -> list[Row]:
    return [row for menu in MENUS for row in rows(menu, half)]


def listed(folder: Path) -> dict[str, Row]:
    """The recordings of a manifest by name, each held against its file."""
    recordings = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["recordings"]
    for entry in recordings:
        raw = (folder / entry["file"]).read_bytes()
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (entry["bytes"], entry["sha256"]), entry["file"]
        assert "Apache-2.0" in (entry["licence"] or "Apache-2.0, as nobody speaks")
    return {entry["file"]: entry for entry in recordings}


def doubts(row: Row) -> set[str]:
    """What blocks a gold cart, by its menu alone; the words of a wish off the menu stand in the order."""
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
    spoken = {row["audio"]: row for row in every_row() if "audio" in row}
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
    for spoken in map(json.loads, (REPOSITORY / "tests/told/sealed/spoken.jsonl").read_text().splitlines()):
        menu, row = known[spoken["id"]]
        # Not shown where they differ: these rows are sealed.
        assert (spoken["utterance"] == row.utterance, spoken["menu"] == menu) == (True, True)
        assert (cart_of(spoken["cart"]["lines"]) == cart_of(row.lines)) is True
