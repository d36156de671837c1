"""What a customer reads of a doubt, one plain sentence; and that a terminal acts on nothing it is shown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from rich.console import Console

from schemas import wording
from schemas.cart import CartDraft, NoteKind
from schemas.order import MenuRef, Order
from schemas.priced_cart import CartNote, Finding, Severity
from schemas.review import Review, ReviewReason
from services.cli.client import shown_json
from services.cli.receipt import cart_table, doubts, headline
from services.pipeline.stages import ask_human
from services.validation.facts import check_facts
from services.validation.price import price_cart
from tests.stand_ins import CAFE, speech
from tests.unit.validation.test_facts import draft, item, off

CONTROLS = "a\x1b]0;owned\x07 \x9b2Jlatte\u202e\u2028"


@pytest.mark.parametrize("reason", ReviewReason)
def test_what_went_wrong_inside_is_for_the_reviewer(reason: ReviewReason) -> None:
    (finding,) = ask_human(reason, "decode_invalid", "Token 17 is outside of the mask", "en").findings or ()
    assert finding.detail == "Token 17 is outside of the mask"
    assert re.fullmatch(r"[A-Z][^_0-9]*\.", finding.message)
    assert wording.doubts([reason], [finding]) == [finding.message]


def order(
    text: str, lines: list[dict[str, Any]], reasons: list[ReviewReason], confidence: float = 0.9
) -> Order:
    heard = speech(text, confidence=confidence)
    made = CartDraft.model_validate({"lines": lines})
    findings = check_facts(made, CAFE)
    now = "2026-01-01T00:00:00Z"
    review = Review(id="rev_1", order_id="ord_1", status="open", reasons=reasons, version=1, created_at=now)
    return Order(
        id="ord_1", status="needs_review", stage=None, version=1, menu=MenuRef(id="trap-cafe", version=1),
        source="audio", transcript=heard, cart=price_cart(made, CAFE, 1, heard, findings), findings=findings,
        review=review, created_at=now, updated_at=now,
    )  # fmt: skip


def receipt(made: Order) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(headline(made))
    console.print(cart_table(made))
    for doubt in doubts(made):
        console.print(doubt)
    return console.export_text()


def test_a_receipt_has_the_notes_of_its_cart() -> None:
    made = order("a large latte very hot no nuts", [item("latte", 1, "L") | {"heard": "a large latte"}], [])
    assert made.cart is not None
    made.cart.notes = [
        CartNote(kind=NoteKind.ALLERGY, text="no nuts"),
        CartNote(kind=NoteKind.PREPARATION, text="very hot", line=0),
    ]
    text = receipt(made)
    assert text.index("Allergy: “no nuts”") < text.index("latte, how to make it: “very hot”")


def test_a_receipt_says_each_reason_once_and_no_code_or_number() -> None:
    both = [ReviewReason.NOT_ON_MENU, ReviewReason.BLOCKING_FINDING]
    text = receipt(order("a large latte and a unicorn", [item("latte", 1, "L"), off("a unicorn")], both))
    assert text.count("isn't on the menu") == 1
    assert "blocking finding" not in text
    assert "0.9" not in text
    unsure = receipt(order("a large latte", [item("latte", 1, "L")], [ReviewReason.LOW_ASR_CONFIDENCE]))
    assert unsure.count("trouble hearing you") == 1
    assert wording.doubts(
        [ReviewReason.LOW_ASR_CONFIDENCE, ReviewReason.BLOCKING_FINDING],
        [Finding.blocking("heard_quietly", "Did you say “latte”? It was hard to hear.", 0)],
    ) == ["Did you say “latte”? It was hard to hear."]
    told = [f.message for f in check_facts(draft(off("a unicorn")), CAFE) if f.severity is Severity.BLOCKING]
    assert wording.doubts([ReviewReason.NOT_ON_MENU], check_facts(draft(off("a unicorn")), CAFE)) == told


def test_a_transcript_is_shown_on_one_line_without_controls() -> None:
    assert headline(order(CONTROLS, [], [])).isprintable()


def test_json_on_a_terminal_is_the_same_json_with_those_signs_escaped() -> None:
    text = shown_json({"said": CONTROLS, "name": "café\U000e0041"}, indent=2)
    assert text.replace("\n", "").isprintable()
    assert "café" in text
    assert json.loads(text) == {"said": CONTROLS, "name": "café\U000e0041"}
