"""`saycart explain`, with a menu file and with a stored menu, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from infra.settings import settings
from schemas.decision import Basis, Decision, Doubt, ModelAnswer, Trust, Verdict
from schemas.lifecycle import Event
from schemas.records.orders import NewOrder, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.bootstrap import bootstrap
from services.cli.main import app
from services.storage.orders.store import OrderStore
from services.validation.explained import Explanation
from tests.stand_ins import CAFE, SAMPLE_MENUS, TESTER

MENU = str(SAMPLE_MENUS / "harbor-coffee.json")
NO_CURRENCY = str(Path(__file__).parents[1] / "tills" / "data" / "toast-shaped.json")

ANSWER = ModelAnswer(probability=0.62, trust=Trust.UNSEEN)
DECISION = Decision(
    verdict=Verdict.NEEDS_REVIEW,
    reasons=(ReviewReason.BLOCKING_FINDING,),
    doubts=(Doubt(code="reading_unsure", message="Is this your order?"),),
    basis=Basis(
        transcript_confidence=1.0,
        cart_probability=0.62,
        cart_trust=Trust.UNSEEN,
        unused=("zeppelin",),
    ),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SAYCART_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def explain(*words: str) -> Result:
    return CliRunner().invoke(app, ["explain", *words], env={"COLUMNS": "200"})


def test_the_table_has_a_row_for_each_part_of_the_text(home: Path) -> None:
    shown = explain("two iced americanos and a large zeppelin", "--menu", MENU)
    assert shown.exit_code == 0
    assert [" ".join(line.split()) for line in shown.stdout.splitlines()] == [
        "words may mean found by",
        "two 2 a number",
        "iced americanos iced americano (item) the whole name",
        "large large (size) the whole name",
        "zeppelin not explained",
    ]
    assert not (home / "home" / "saycart.db").exists(), "a menu file needs no database"


def test_a_stored_menu_is_found_by_its_id() -> None:
    box = bootstrap(settings())
    try:
        box.database.migrate()
        box.menus.of("main").put(CAFE, by=TESTER)
    finally:
        box.close()
    shown = explain("twenty one muffins and a coffee dark rowst", "--menu", CAFE.id, "--json")
    found = Explanation.model_validate_json(shown.stdout)
    assert (found.menu, found.menu_version) == (CAFE.id, 1)
    assert {(one.words, one.meaning, one.found_by) for one in found.parts} >= {
        ("twenty one", "21", "a number"),
        ("muffins", "blueberry muffin (item)", "part of the name"),
        ("dark rowst", "dark roast (option)", "sounds like the name"),
    }
    for one in found.parts:
        assert found.text[one.start : one.end] == one.words


def test_an_order_is_explained_with_its_decision() -> None:
    box = bootstrap(settings())
    try:
        box.database.migrate()
        box.menus.of("main").put(CAFE, by=TESTER)
        said = Transcript(text="a muffin and a zeppelin", confidence=1.0)
        orders = OrderStore(box.database, "main")
        order, _ = orders.create(NewOrder(CAFE.id, 1, "en", transcript=said))
        order = orders.commit(order, Outcome(Event.DECODED, answer=ANSWER))
        orders.commit(order, Outcome(Event.DOUBTED, reasons=DECISION.reasons, decision=DECISION))
    finally:
        box.close()
    assert [" ".join(line.split()) for line in explain(order.id).stdout.splitlines()[3:]] == [
        "decision: a person reviews it",
        "doubt: reading_unsure: Is this your order?",
        "reasons: blocking_finding",
        "transcript: 100% sure",
        "second transcript: unused",
        "unused words: zeppelin",
        "model: The language model is 62% sure of its cart. Its training had no such order.",
    ]
    found = Explanation.model_validate_json(explain(order.id, "--json").stdout)
    assert (found.answer, found.decision) == (ANSWER, DECISION)


@pytest.mark.parametrize(
    ("text", "menu", "told"),
    [
        ("a latte", "no-such-menu", "There is no menu “no-such-menu”"),
        ("a latte", "menus/gone.json", "No file menus/gone.json"),
        ("a latte", __file__, "is not a menu"),
        ("a steak", NO_CURRENCY, "names no currency hint `saycart menu check`, `import` and `convert` take"),
        ("a latte", "", "Which menu?"),
        ("ord_0", "", "No order ord_0"),
        ("  ", MENU, "it may have 1 to 2000"),
        ("latte " * 400, MENU, "it may have 1 to 2000"),
    ],
)
def test_what_it_cant_explain_is_said_in_a_sentence(text: str, menu: str, told: str) -> None:
    refused = explain(text, "--menu", menu)
    assert refused.exit_code == 1
    assert told in " ".join(refused.stderr.split())
    assert "hint" in refused.stderr
