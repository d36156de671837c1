"""What a reviewer's decision makes of an order: the same facts and the same prices apply."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.cart import CartDraft, NoteDraft, NoteKind
from schemas.errors import InvalidCart
from schemas.lifecycle import Event, State
from schemas.menu import MenuVersion
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewDecision
from services.pipeline.review import OVERRULED, confirm, settle
from tests.stand_ins import CAFE, in_review

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MENU = MenuVersion("main", CAFE, 4, "digest", NOW)


def draft(*lines: dict[str, Any]) -> CartDraft:
    return CartDraft.model_validate(
        {"lines": [{"kind": "item", "heard": "a latte", **line} for line in lines]}
    )


LATTE = {"sku": "latte", "quantity": 2, "size": "L"}
ORDER = in_review(draft(LATTE))


def decide(action: str, order: OrderRecord = ORDER, **more: Any) -> Outcome:
    decision = ReviewDecision(version=1, action=action, **more)  # type: ignore[arg-type]
    return settle(order, decision, "ada", MENU)


def test_approved_as_proposed_is_priced_from_the_orders_menu() -> None:
    outcome = decide("approve")
    assert outcome.event is Event.APPROVED
    assert outcome.draft == ORDER.draft
    assert outcome.cart is not None
    assert (outcome.cart.total, outcome.cart.menu.version) == (1000, 4)
    assert outcome.cart.lines[0].heard.end_s == 0.7
    assert outcome.detail == {"reviewer": "ada", "action": "approve", "reason": None}


def test_a_correction_replaces_the_proposal() -> None:
    outcome = decide("correct", cart=draft({"sku": "muffin", "quantity": 3}))
    assert outcome.event is Event.APPROVED
    assert outcome.cart is not None
    assert [(line.sku, line.line_total) for line in outcome.cart.lines] == [("muffin", 1050)]
    assert outcome.draft != ORDER.draft


@pytest.mark.parametrize(
    ("sent", "kept"),
    [({}, ["no nuts"]), ({"notes": []}, []), ({"notes": [{"kind": "diet", "heard": "vegan"}]}, ["vegan"])],
)
def test_a_correction_that_says_nothing_of_notes_keeps_them(sent: dict[str, Any], kept: list[str]) -> None:
    noted = draft(LATTE).model_copy(update={"notes": (NoteDraft(kind=NoteKind.ALLERGY, heard="no nuts"),)})
    cart = {"lines": [{"kind": "item", "heard": "x", "sku": "muffin", "quantity": 1}]} | sent
    outcome = decide("correct", in_review(noted), cart=cart)
    assert outcome.draft is not None
    assert outcome.cart is not None
    assert [note.heard for note in outcome.draft.notes] == [note.text for note in outcome.cart.notes] == kept


def test_a_rejection_leaves_the_cart_alone() -> None:
    outcome = decide("reject", reason="nobody there")
    assert (outcome.event, outcome.cart, outcome.draft) == (Event.REFUSED, None, None)
    assert outcome.detail["reason"] == "nobody there"


@pytest.mark.parametrize(
    ("lines", "pointer"),
    [
        ([LATTE, {"sku": "unicorn", "quantity": 1}], "/cart/lines/1"),
        ([{"sku": "latte", "quantity": 1}], "/cart/lines/0"),
        ([{"kind": "not_on_menu", "quantity": 1}], "/cart/lines/0"),
        ([], "/cart/lines"),
    ],
)
def test_a_cart_that_can_not_be_made_is_refused_with_its_place(
    lines: list[dict[str, Any]], pointer: str
) -> None:
    with pytest.raises(InvalidCart) as caught:
        decide("correct", cart=draft(*lines))
    assert [path for path, _ in caught.value.problems] == [pointer]
    with pytest.raises(InvalidCart):
        decide("approve", replace(ORDER, draft=draft(*lines)))


def test_a_human_may_overrule_a_limit_and_it_shows() -> None:
    lines = [
        {"sku": "latte", "quantity": 13, "size": "L"},
        {"sku": "truffle", "quantity": 1},
        {"sku": "nuggets", "quantity": 1, "size": "P10", "options": [{"group": "sauce", "id": "gold"}]},
    ]
    outcome = decide("correct", cart=draft(*lines))
    assert outcome.findings is not None
    assert {finding.code for finding in outcome.findings} == OVERRULED - {"item_outside_hours"}
    assert outcome.cart is not None
    assert outcome.cart.total == 13 * 500 + 900 + 650 + 900


PROPOSED = replace(ORDER, state=State.PROPOSED, confirm=True)


@pytest.mark.parametrize("of", [{"confirm": True}, {"source": "page:/192.0.2.1"}])
@pytest.mark.parametrize("action", ["approve", "correct"])
def test_what_a_reviewer_decides_of_a_page_order_is_for_its_customer_to_confirm(
    action: str, of: dict[str, Any]
) -> None:
    more = {"cart": draft({**LATTE, "quantity": 3})} if action == "correct" else {}
    outcome = decide(action, replace(ORDER, **of), **more)
    assert (outcome.event, outcome.detail["action"]) == (Event.PROPOSED, action)


def test_a_customer_confirms_a_limit_that_a_reviewer_overruled_and_changes_no_other() -> None:
    over = draft({**LATTE, "quantity": 13})
    with pytest.raises(InvalidCart, match="The limit is 12"):
        confirm(PROPOSED, over, MENU)
    outcome = decide("correct", replace(ORDER, confirm=True), cart=over)
    at = replace(PROPOSED, draft=over, findings=outcome.findings or ())
    assert confirm(at, over, MENU).event is Event.CONFIRMED
    with pytest.raises(InvalidCart, match="The limit is 12"):
        confirm(at, draft({**LATTE, "quantity": 14}), MENU)


def test_nothing_proposed_can_be_corrected_and_not_approved() -> None:
    nothing = replace(ORDER, draft=None, transcript=None)
    with pytest.raises(InvalidCart, match="corrected") as caught:
        decide("approve", nothing)
    assert caught.value.problems[0][0] == "/cart"
    outcome = decide("correct", nothing, cart=draft(LATTE))
    assert outcome.cart is not None
    assert (outcome.cart.total, outcome.cart.lines[0].confidence) == (1000, 0.0)


@pytest.mark.parametrize(("sent", "total"), [(None, 1000), (draft({**LATTE, "quantity": 3}), 1500)])
def test_a_customer_confirms_what_was_proposed_or_corrects_it(sent: CartDraft | None, total: int) -> None:
    outcome = confirm(PROPOSED, sent, MENU)
    assert (outcome.event, outcome.draft) == (Event.CONFIRMED, sent or PROPOSED.draft)
    assert outcome.detail == {"corrected": sent is not None}
    assert outcome.cart is not None
    assert outcome.cart.total == total
