"""What is accepted without a look is what was said: thousands of orders whose cart is known.

Where the words leave nothing open, the mask leaves one cart (`LineEvidence.settled`), so it is known without
a model. A needless review is allowed here, and counted; a wrong cart that nobody would look at is not.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.checks.one_cart import undoubted_cart
from services.reading.order import read_order
from tests.spoken.speaker import Speaker

SPOKEN, TOLD = REPOSITORY / "tests" / "spoken", REPOSITORY / "tests" / "told"
MENUS = {
    file.stem: Menu.parse(json.loads(file.read_text(encoding="utf-8")))
    for file in (
        *sorted((REPOSITORY / "infra/samples/menus").glob("*.json")),
        *sorted((SPOKEN / "menus").glob("*.json")),
        *sorted((TOLD / "menus").glob("*.json")),
    )
}
ORDERS = int(os.environ.get("SAYCART_SPOKEN", "300"))
WRITTEN = [json.loads(row) for row in (SPOKEN / "stone-oven.jsonl").read_text(encoding="utf-8").splitlines()]


def only_cart(evidence: Evidence) -> list[dict[str, Any]] | None:
    """The one cart that the words leave; None where they leave anything open, or the cart is in doubt."""
    draft = undoubted_cart(evidence)
    return None if draft is None else draft.model_dump(mode="json")["lines"]


def wrong(menu: Menu, words: str, gold: list[dict[str, Any]]) -> bool | None:
    """Whether an accepted cart is wrong; None for one that a human would see."""
    cart = only_cart(read_order(words, menu, 1))
    return None if cart is None else canonical(cart) != canonical(gold)


@pytest.mark.parametrize("name", MENUS)
def test_no_order_is_taken_wrongly_without_a_look(name: str) -> None:
    speaker = Speaker(MENUS[name], random.Random(name))
    spoken = [speaker.order() for _ in range(ORDERS)]
    results = [wrong(MENUS[name], words, gold) for words, gold in spoken]
    assert [words for (words, _), result in zip(spoken, results, strict=True) if result] == []
    # Most plain speech needs nobody, or the test above would prove nothing.
    assert results.count(False) > 0.6 * ORDERS


def test_written_orders_of_a_menu_no_rule_was_made_for() -> None:
    results = {
        row["utterance"]: wrong(MENUS["stone-oven"], row["utterance"], row["cart"]["lines"])
        for row in WRITTEN
    }
    assert [words for words, result in results.items() if result] == []
    assert list(results.values()).count(False) > 0.6 * len(WRITTEN)


LATTE, MUFFIN = "latte", "blueberry-muffin"


@pytest.mark.parametrize(
    ("menu", "words", "lines"),
    [
        ("harbor-coffee", "two large lattes and one small", [(LATTE, 2, "L"), (LATTE, 1, "S")]),
        ("harbor-coffee", "a large latte and a small one", [(LATTE, 1, "L"), (LATTE, 1, "S")]),
        ("harbor-coffee", "two lattes, one large and one small", [(LATTE, 1, "L"), (LATTE, 1, "S")]),
        # Three, or two of which one is medium?
        ("harbor-coffee", "two large lattes, one medium with soy milk", None),
        ("harbor-coffee", "two lattes and one with oat milk", None),
        ("harbor-coffee", "a large latte and a small splash of milk", None),
        ("stone-oven", "can I get a diet coke", [("diet-coke", 1, None)]),
        ("stone-oven", "one can of diet coke", [("diet-coke", 1, "CAN")]),
        ("stone-oven", "twelve wings with a side of ranch", [("wings", 1, "TWELVE", ("ranch", "normal"))]),
        ("stone-oven", "a small pizza with extra cheese", [("pizza", 1, "S", ("mozzarella", "extra"))]),
        ("stone-oven", "a small pizza with no, um, onions", [("pizza", 1, "S", ("onions", "none"))]),
        ("stone-oven", "a small pizza, hold the, like, basil", [("pizza", 1, "S", ("basil", "none"))]),
        # The lemon belongs to what is gone.
        (
            "stone-oven",
            "an iced tea with ice and lemon and two sprites. cancel the iced tea",
            [("sprite", 2, None)],
        ),
        (
            "stone-oven",
            "a small coke with lemon. then a large sprite, no lemon",
            [("coke", 1, "S", ("lemon", "normal")), ("sprite", 1, "L", ("lemon", "none"))],
        ),
        # The combo's drink, or one more?
        ("copper-skillet", "a classic burger combo and a cola", None),
        ("copper-skillet", "a cola classic burger combo", None),
        (
            "copper-skillet",
            "a classic burger combo with a cola",
            [("classic-burger-combo", 1, None, ("cola", "normal"))],
        ),
        ("copper-skillet", "a turkey burger and two colas", [("turkey-burger", 1, None), ("cola", 2, None)]),
        ("copper-skillet", "a kids burger meal and fries. cancel the kids burger meal", None),
        (
            "copper-skillet",
            "a cheeseburger with no lettuce, tomato or onion",
            [("cheeseburger", 1, None, *((ref, "none") for ref in ("lettuce", "tomato", "onion")))],
        ),
        ("copper-skillet", "a cheeseburger without lettuce tomato", None),
        ("copper-skillet", "a cheeseburger no onions and pickles", None),
        ("copper-skillet", "a cheeseburger with just ketchup", None),
        ("copper-skillet", "a cheeseburger with the works", None),
        ("copper-skillet", "a double bacon cheeseburger", None),
        (
            "copper-skillet",
            "just a cheeseburger with bacon",
            [("cheeseburger", 1, None, ("bacon", "normal"))],
        ),
        ("harbor-coffee", "a small latte or a small mocha", None),
        ("harbor-coffee", "a small latte, no sugar or anything", [(LATTE, 1, "S", ("sugar", "none"))]),
        ("harbor-coffee", "two or three small lattes", None),
        ("harbor-coffee", "last time I had a small latte", None),
        ("harbor-coffee", "a number 12 and a small latte", None),
        ("harbor-coffee", "a small latte with oat milk and a blueberry muffin with oat milk", None),
        ("harbor-coffee", "a small latte with oat milk, and a small cappuccino with that too", None),
    ],
)
def test_what_is_settled_and_what_is_left_to_a_human(
    menu: str, words: str, lines: list[tuple[Any, ...]] | None
) -> None:
    cart = only_cart(read_order(words, MENUS[menu], 1))
    shown = cart and [
        (line["sku"], line["quantity"], line["size"], *((o["id"], o["amount"]) for o in line["options"]))
        for line in cart
    ]
    assert shown == lines
