"""What a customer is told and asked in the language of their menu: all of it, and with the same values."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from string import Formatter
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas import wording
from schemas.cart import CartDraft, CartOption, NoteKind
from schemas.decision import ModelAnswer, Policy, UnsurePiece
from schemas.review import ReviewReason
from schemas.sentences.sentences import ENGLISH, FOLDER, known, sentences
from services.learning.training.notation import read_menu
from services.pipeline.flow import FLOW
from services.pipeline.stages import ask_human
from services.validation.facts import check_facts
from services.validation.whole_cart import with_question

MENU = read_menu(REPOSITORY / "tests" / "told" / "es" / "cafe-sol.menu")
CODE = [file for room in ("schemas", "services") for file in (REPOSITORY / room).rglob("*.py")]
# Made of a value: an amount, a reason, or a stage.
FAMILIES = {
    "amount": ("none", "light", "normal", "extra"),
    "note": tuple(NoteKind),
    "portion": ("left", "right"),
    "reason": tuple(r.value for r in ReviewReason),
    "step": tuple(stage.name.value for stage in FLOW.values()),
}
POLICY = Policy(asr_threshold=0.7, max_total=50_000, max_total_asked=50_000)
TEMPLATES = REPOSITORY / "services" / "web" / "templates" / "customer"


def written(code: str) -> dict[str, dict[str, str]]:
    tables = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    return {name: table for name, table in tables.items() if name != "before"}


def filled_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", sorted(known()))
def test_each_language_has_every_sentence_with_the_same_values_to_fill_in(code: str) -> None:
    own, english = written(code), written(ENGLISH)
    assert {name: list(table) for name, table in own.items()} == {n: list(t) for n, t in english.items()}
    for name, table in own.items():
        for key, text in table.items():
            assert text.strip()
            assert filled_in(text) == filled_in(english[name][key]), key
            assert text.count("“") == text.count("”"), key
            if code == "es":
                assert text.count("¿") == text.count("?"), key


def test_every_sentence_is_told_somewhere() -> None:
    said = {node.value for node in constants() if isinstance(node.value, str)}
    for template in TEMPLATES.glob("*.html"):
        said |= set(re.findall(r"say\('(\w+)'", template.read_text(encoding="utf-8")))
    made = {f"{family}_{value}" for family, values in FAMILIES.items() for value in values}
    keys = {key for table in written(ENGLISH).values() for key in table}
    assert made <= keys
    assert not keys - said - made


def constants() -> Iterator[ast.Constant]:
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant):
                yield node


def test_no_check_words_a_finding_by_itself() -> None:
    """A sentence in the code would be English on every menu."""
    found = []
    for file in (REPOSITORY / "services" / "validation").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and re.fullmatch(
                r"Finding\.(blocking|info)|Choice|Question", ast.unparse(node.func)
            )
            if isinstance(node, ast.Call) and named:
                words = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "text")]
                found += [
                    ast.unparse(w)
                    for word in words
                    for w in ast.walk(word)
                    if isinstance(w, ast.Constant) and " " in str(w.value)
                ]
    assert not found


@pytest.mark.parametrize(("language", "own"), [("es", "es"), ("es-MX", "es"), ("en-GB", "en"), ("de", "en")])
def test_a_language_without_sentences_is_spoken_to_in_english(language: str, own: str) -> None:
    assert sentences(language) is sentences(own)


@pytest.mark.parametrize(
    ("names", "joint", "told"),
    [
        (["té", "café"], "and", "té y café"),
        (["naranja", "hibisco"], "and", "naranja e hibisco"),
        (["té", "hielo"], "and", "té y hielo"),
        (["té", "limón", "“oporto”"], "or", "té, limón u “oporto”"),
        (["7", "8"], "or", "7 u 8"),
        (["7", "9"], "or", "7 o 9"),
        (["10", "11"], "or", "10 u 11"),
        (["110", "112"], "or", "110 o 112"),
        (["té"], "or", "té"),
    ],
)
def test_joints_are_as_they_sound(names: list[str], joint: str, told: str) -> None:
    assert sentences("es").joined(names, joint) == told


def line(sku: str, quantity: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": "item", "heard": "…", "sku": sku, "quantity": quantity, **more}


def drafted(*lines: dict[str, Any]) -> CartDraft:
    return CartDraft.model_validate({"lines": lines})


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([line("mocha")], {"missing_size": "¿De qué tamaño quiere “Mocha”?"}),
        (
            [{"kind": "not_on_menu", "heard": "un zepelín", "quantity": 1}],
            {"not_on_menu": "“un zepelín” no está en la carta."},
        ),
        ([], {"empty_cart": "No pudimos entender ningún pedido."}),
    ],
    ids=["size", "not on the menu", "empty"],
)
def test_a_customer_of_a_spanish_menu_is_told_in_spanish(
    lines: list[dict[str, Any]], told: dict[str, str]
) -> None:
    assert {found.code: found.message for found in check_facts(drafted(*lines), MENU)} == told


def test_a_doubt_about_the_whole_cart_is_told_in_spanish_and_explained_in_english() -> None:
    answer = ModelAnswer(probability=0.7, unsure=(UnsurePiece(text="Cortado", probability=0.71),))
    (found,) = with_question(answer, drafted(line("cortado")), [], MENU, POLICY)
    assert found.message == "¿Es este su pedido? No estamos seguros de haberlo entendido todo."
    assert found.detail == "The language model is 70% sure of its cart. Least sure of: “Cortado” (71%)."


def test_doubts_and_options_are_told_in_the_menus_language() -> None:
    assert wording.doubts([ReviewReason.DECODE_FAILED], [], "es") == [
        "No pudimos convertir en un pedido lo que dijo."
    ]
    finding = ask_human(ReviewReason.STAGE_FAILED, "stage_failed", "…").findings
    assert wording.doubts([ReviewReason.STAGE_FAILED], finding, "es") == [
        "Algo falló de nuestra parte, así que alguien toma este pedido a mano."
    ]
    ice = CartOption(group="extras", id="hielo", name="hielo", amount="extra", count=2, price=20)
    assert wording.option(ice, "EUR", "es") == "2 × hielo extra (+€0.20)"
