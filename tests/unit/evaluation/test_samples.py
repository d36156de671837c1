"""The samples that the demo and the first evaluation rest on agree with each other."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.cart import CartDraft, ItemLine
from schemas.menu import Menu

SAMPLES = Path(__file__).resolve().parents[3] / "infra" / "samples"
RECORDINGS = SAMPLES / "recordings"


def menu(name: str) -> Menu:
    return Menu.parse(json.loads((SAMPLES / "menus" / f"{name}.json").read_text(encoding="utf-8")))


def gold() -> list[dict[str, Any]]:
    lines = (RECORDINGS / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def manifest() -> dict[str, dict[str, Any]]:
    document = json.loads((RECORDINGS / "manifest.json").read_text(encoding="utf-8"))
    return {entry["file"]: entry for entry in document["recordings"]}


def draft(row: dict[str, Any]) -> CartDraft:
    """The gold cart as the model would have to say it; a gold row may leave `kind` and `heard` out."""
    lines = [{"kind": "item", "heard": "x", **line} for line in row["cart"]["lines"]]
    return CartDraft.model_validate({"lines": lines})


@pytest.mark.parametrize(("name", "least"), [("harbor-coffee", 40), ("copper-skillet", 30)])
def test_menu_parses_and_shows_what_menus_can_do(name: str, least: int) -> None:
    parsed = menu(name)
    assert parsed.id == name
    assert parsed.currency == "USD"
    assert len(parsed.items) >= least
    sized = [item for item in parsed.items if item.prices]
    assert {bool(item.default_size) for item in sized} == {True, False}
    assert any(not item.available for item in parsed.items)
    used = {group for item in parsed.items for group in item.option_groups}
    assert used == {group.id for group in parsed.option_groups}
    assert any(group.required for group in parsed.option_groups)


@pytest.mark.parametrize("row", gold(), ids=lambda row: str(row["id"]))
def test_gold_can_be_ordered_from_its_menu(row: dict[str, Any]) -> None:
    served = menu(row["menu"])
    for line in draft(row).lines:
        if not isinstance(line, ItemLine):
            assert line.heard in row["utterance"]
            continue
        item = served.item(line.sku)
        assert item is not None, line.sku
        assert item.available
        assert line.quantity <= item.max_quantity
        assert line.size is None or line.size in item.size_ids
        said: dict[str, list[str]] = {}
        for option in line.options:
            assert option.group in item.option_groups
            group = served.group(option.group)
            assert group is not None
            assert option.id in {o.id for o in group.options}
            said.setdefault(option.group, []).append(option.id)
        for group_id in item.option_groups:
            group = served.group(group_id)
            assert group is not None
            assert len(said.get(group_id, [])) == len(set(said.get(group_id, [])))
            assert group.choose == "many" or len(said.get(group_id, [])) <= 1
            # What is accepted unasked must leave nothing to ask.
            assert row["expect"] == "review" or not group.required or group_id in said
        if row["expect"] == "accept" and item.prices and item.default_size is None:
            assert line.size is not None


def test_recordings_are_the_ones_in_the_manifest() -> None:
    entries = manifest()
    files = {path.name for path in RECORDINGS.glob("*.flac")}
    rows = gold()
    assert files == set(entries) == {row["audio"] for row in rows}
    for row in rows:
        entry = entries[row["audio"]]
        assert entry["text"] == row["utterance"]
        content = (RECORDINGS / row["audio"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert len({entry["voice"] for entry in entries.values()} - {None}) >= 6
    noises = {(entry["noise"], entry["snr_db"]) for entry in entries.values()}
    assert {"babble", "car"} <= {kind for kind, _ in noises}
