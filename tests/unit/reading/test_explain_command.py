"""`saycart explain`, over a menu file and over a stored menu, and what it says of what it can't explain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from infra.settings import settings
from schemas.explanation import Explanation
from services.bootstrap import bootstrap
from services.cli.main import app
from tests.stand_ins import CAFE, SAMPLE_MENUS, TESTER

MENU = str(SAMPLE_MENUS / "harbor-coffee.json")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SAYCART_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def explain(*words: str) -> Result:
    return CliRunner().invoke(app, ["explain", *words], env={"COLUMNS": "200"})


def test_the_table_shows_words_mask_and_way(home: Path) -> None:
    shown = explain("two iced americanos and a large latte, make that three", "--menu", MENU)
    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert (
        "iced americanos iced americano (item) the whole name "
        "americano (these words are inside a longer name: iced americano)"
    ) in lines
    assert "Where the order goes" in lines
    assert not (home / "home" / "saycart.db").exists(), "a menu file needs no database"


def test_json_is_the_whole_explanation() -> None:
    shown = explain("two lattes, make one large", "--menu", MENU, "--json")
    found = Explanation.model_validate_json(shown.stdout)
    assert [span.text for span in found.reading.chosen] == ["two", "lattes", "one", "large"]
    document: dict[str, Any] = json.loads(shown.stdout)
    assert document["destination"]["findings"][0]["code"] == "missing_size"
    assert [line["size_required"] for line in document["lines"]] == [True, False]


def test_a_stored_menu_is_found_by_its_id() -> None:
    box = bootstrap(settings())
    try:
        box.database.migrate()
        box.menus.of("main").put(CAFE, by=TESTER)
    finally:
        box.close()
    shown = explain("a small latte", "--menu", CAFE.id, "--json")
    found = Explanation.model_validate_json(shown.stdout)
    assert (found.menu, found.menu_version, found.destination.to) == (CAFE.id, 1, "completed")


@pytest.mark.parametrize(
    ("text", "menu", "told"),
    [
        ("a latte", "no-such-menu", "No menu no-such-menu"),
        ("a latte", "menus/gone.json", "No file menus/gone.json"),
        ("a latte", __file__, "is not JSON"),
        ("  ", MENU, "it may have 1 to 2000"),
        ("latte " * 400, MENU, "it may have 1 to 2000"),
    ],
)
def test_what_it_cant_explain_is_said_in_a_sentence(text: str, menu: str, told: str) -> None:
    refused = explain(text, "--menu", menu)
    assert refused.exit_code == 1
    assert told in " ".join(refused.stderr.split())
    assert "hint" in refused.stderr


def test_words_past_the_budget_are_said_to_be(tmp_path: Path) -> None:
    names = [" ".join(["tea"] * n) for n in range(1, 14)]
    items = [{"sku": f"t{n}", "name": name, "price": 100} for n, name in enumerate(names)]
    file = tmp_path / "teas.json"
    file.write_text(json.dumps({"id": "teas", "name": "Teas", "currency": "USD", "items": items}))
    refused = explain("tea " * 499, "--menu", str(file))
    assert refused.exit_code == 1
    assert "takes more than" in refused.stderr
