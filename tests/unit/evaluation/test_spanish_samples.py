"""The Spanish samples are the told orders, spoken: menus, words, carts and recordings agree."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.menu import Menu
from services.learning.training.notation import read_menu, read_orders

SPANISH, TOLD = REPOSITORY / "infra" / "samples" / "spanish", REPOSITORY / "tests" / "told" / "es"
RECORDINGS = SPANISH / "recordings"
MENUS = sorted((SPANISH / "menus").glob("*.json"))


@pytest.mark.parametrize("file", MENUS, ids=lambda file: str(file.stem))
def test_a_menu_is_the_one_that_the_orders_were_told_of(file: Path) -> None:
    menu = Menu.parse(json.loads(file.read_text(encoding="utf-8")))
    assert menu == read_menu(TOLD / f"{file.stem}.menu")
    assert menu.language == "es"


def test_recordings_say_what_their_rows_say_and_mean_what_was_told() -> None:
    gold = [json.loads(line) for line in (RECORDINGS / "gold.jsonl").read_text().splitlines()]
    manifest = json.loads((RECORDINGS / "manifest.json").read_text())["recordings"]
    entries = {entry["file"]: entry for entry in manifest}
    assert {path.name for path in RECORDINGS.glob("*.flac")} == set(entries) == {row["audio"] for row in gold}
    for row in gold:
        entry, sound = entries[row["audio"]], (RECORDINGS / row["audio"]).read_bytes()
        assert (entry["text"], entry["sha256"]) == (row["utterance"], hashlib.sha256(sound).hexdigest())
        assert entry["licence"]
        orders, _ = read_orders(TOLD / f"{row['menu']}.orders", read_menu(TOLD / f"{row['menu']}.menu"))
        told = orders[int(row["id"].rpartition("-")[2]) - 1]
        assert (told.said, canonical(told.lines)) == (row["utterance"], canonical(row["cart"]["lines"]))
