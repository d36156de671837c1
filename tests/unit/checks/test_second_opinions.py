"""In a language in which nobody measured how far to believe a second opinion, none takes a doubt away."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from schemas.cart import Severity
from schemas.decision import Agreement
from schemas.menu import Menu
from services.checks.confidence import field_confidences
from services.checks.evidence import check_hearing
from services.checks.one_cart import undoubted_cart
from services.checks.two_readers import compare
from services.engines.ports import Reading
from services.engines.recognition.confidence import calibrated, is_measured
from services.hearing.second_hearing import Heard
from services.hearing.second_recogniser import with_witness
from services.reading.language.language import measured
from services.reading.order import read_order
from services.training.notation import read_menu
from tests.stand_ins import ScriptedTranscriber, recorded, speech

MENU = read_menu(REPOSITORY / "tests" / "told" / "es" / "cafe-sol.menu")
ENGLISH = MENU.model_copy(update={"language": "en"})
BASE = "faster-whisper-base/int8/beam5-t0-vad"
SAID = "un cortado con leche desnatada"


def test_english_alone_was_measured() -> None:
    assert [code for code in ("en", "en-GB", "es", "es-MX", "de") if measured(code)] == ["en", "en-GB"]


@pytest.mark.parametrize(("menu", "expected"), [(ENGLISH, Agreement.CONFIDENT), (MENU, Agreement.UNSURE)])
def test_the_learned_reader_vouches_for_nothing_in_spanish(menu: Menu, expected: Agreement) -> None:
    evidence = read_order("lo de siempre", menu, 1)
    line = {"kind": "item", "sku": "cortado", "quantity": 1, "size": None, "options": []}
    reading = Reading((line,), "1 Cortado", math.log(0.999), 0, "llama.cpp:orders", 20, 9, 18, 0.1)
    assert compare(reading, evidence).readings.agreement is expected


@pytest.mark.parametrize(("language", "severity"), [("en", Severity.INFO), ("es", Severity.BLOCKING)])
@pytest.mark.parametrize("borne_out", [{"alike": 0.9, "overruled": 0.2}, {"agreed": True}])
def test_what_a_second_hearing_put_right_in_spanish_is_looked_at(
    language: str, severity: Severity, borne_out: dict[str, float]
) -> None:
    told = {"language": language, "first_heard": "un cor tado", **borne_out}
    (finding,) = check_hearing(speech(SAID).model_copy(update=told), 0.72)
    assert (finding.code, finding.severity) == ("heard_again", severity)


def test_a_second_recogniser_is_not_asked_about_spanish() -> None:
    ears = ScriptedTranscriber([speech(SAID)])
    heard = Heard(
        speech(SAID, confidence=0.6).model_copy(update={"language": "es"}), read_order(SAID, MENU, 1)
    )
    assert (
        with_witness(
            recorded(Path("a")),
            heard,
            MENU,
            1,
            lambda: ears,
            lambda _a, _b: 0.96,
            floor=0.72,
            field_threshold=0.94,
        )
        is heard
    )
    assert ears.heard == []


def test_spanish_is_never_as_sure_as_english_that_was_heard_alike() -> None:
    assert not is_measured(f"{BASE}/es")
    for percent in range(1, 101):
        spanish, english = (calibrated(percent / 100, f"{BASE}/{code}") for code in ("es", "en"))
        assert spanish < english


def test_fields_that_were_hard_to_hear_are_doubted_in_spanish_as_in_english() -> None:
    evidence = read_order(SAID, MENU, 1)
    cart = undoubted_cart(evidence)
    assert cart is not None
    sure, unsure = (speech(SAID, probability=p) for p in (0.98, 0.6))
    spanish, english = (
        [
            field_confidences(cart, evidence, heard.model_copy(update={"source": f"{BASE}/{code}"}))
            for heard in (sure, unsure)
        ]
        for code in ("es", "en")
    )
    assert spanish == english
    assert min(spanish[0][0].values()) > 0.94 > min(spanish[1][0].values())
