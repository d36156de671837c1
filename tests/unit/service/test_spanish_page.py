"""The page of an order from a Spanish menu: whatever its state, it says nothing in English."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.review import ReviewReason
from schemas.sentences.sentences import FOLDER
from services.cli.commands.menu import TEMPLATE
from services.learning.training.notation import read_menu
from services.validation.facts import check_facts
from services.validation.price import price_cart
from services.web.customers.customer_view import of_order
from services.web.pages import TEMPLATES
from tests.stand_ins import in_review, speech

SPANISH = read_menu(REPOSITORY / "tests" / "orders" / "spanish" / "cafe-sol.menu")
TABLES = {code: tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8")) for code in ("en", "es")}
# Sentences of pages that are told otherwise in the two languages, as far as their first value.
ENGLISH = {
    start
    for table in ("page", "start")
    for key, text in TABLES["en"][table].items()
    if text != TABLES["es"][table][key] and len(start := text.partition("{")[0]) > 4
}


MOCHA = {"kind": "item", "heard": "un mocha", "sku": "mocha", "quantity": 1}
NO_ICE = {"options": [{"group": "extras", "id": "hielo", "amount": "none"}]}


def shown(menu: Menu, state: State, line: dict[str, Any] = MOCHA) -> str:
    draft = CartDraft.model_validate({"lines": [line]})
    findings = tuple(check_facts(draft, menu))
    heard = speech("un mocha")
    record = replace(
        in_review(draft),
        state=state,
        menu_id=menu.id,
        transcript=heard,
        cart=price_cart(draft, menu, 4, heard, list(findings)),
        findings=findings,
        reasons=(ReviewReason.BLOCKING_FINDING,),
    )
    frame = {"brand": None, "kiosk": False, "home": "/", "host": "https://cafe.example/", "max_audio_s": 60}
    frame |= {"path": "/", "staff": None, "style_nonce": ""}
    context = {**frame, **of_order(record, None, menu)}
    page = unescape(TEMPLATES.get_template("customer/order.html").render(context)).partition("<main")[2]
    return page.partition('class="shelves')[0]  # whose words are the menu's


@pytest.mark.parametrize("state", [s for s in State if s is not State.FAILED])
def test_a_page_of_a_spanish_menu_has_no_english_sentence(state: State) -> None:
    page = shown(SPANISH, state)
    assert not {text for text in ENGLISH if text in page}
    assert {text for text in ENGLISH if text in shown(SPANISH.model_copy(update={"language": "en"}), state)}


def test_a_line_has_its_description_and_allergens_and_the_cart_its_taxes() -> None:
    menu = Menu.parse(json.loads(TEMPLATE.read_text(encoding="utf-8"))).model_copy(update={"language": "es"})
    sauce = {"options": [{"group": "sauce", "id": "ranch"}]}
    page = shown(menu, State.COMPLETED, {**MOCHA, **sauce, "sku": "breakfast"})
    for words in (
        "Two eggs, beans",
        "Contiene egg",
        "Subtotal",
        "$11.50",
        "Sales tax 8.875%",
        "$1.02",
        "$12.52",
    ):
        assert words in page
