"""What the command line prints: nothing that a terminal acts on."""

from __future__ import annotations

import json

from schemas.order import Order
from schemas.priced_cart import MenuRef
from schemas.transcript import Transcript
from services.cli.client import shown_json
from services.cli.receipt import headline

WORDS = "a\x1b]0;owned\x07 \x9b2Jlatte\u202e\u2028"


def test_a_transcript_is_shown_on_one_line_without_controls() -> None:
    order = Order(
        id="ord_1",
        status="queued",
        stage=None,
        version=1,
        source="transcript",
        menu=MenuRef(id="m", version=1),
        transcript=Transcript(text=WORDS, confidence=1.0),
        created_at="",
        updated_at="",
    )
    assert headline(order).isprintable()


def test_json_on_a_terminal_is_the_same_json_with_those_signs_escaped() -> None:
    text = shown_json({"said": WORDS, "name": "café\U000e0041"}, indent=2)
    assert text.replace("\n", "").isprintable()
    assert "café" in text
    assert json.loads(text) == {"said": WORDS, "name": "café\U000e0041"}
