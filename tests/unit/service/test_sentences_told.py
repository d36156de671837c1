"""What a customer is told and asked in the language of their menu: all of it, and with the same values."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from string import Formatter

import pytest

from infra.settings import REPOSITORY
from schemas.cart import NoteKind
from schemas.decision import Trust
from schemas.review import ReviewReason
from schemas.sentences.sentences import ENGLISH, FOLDER, KNOWN, sentences
from services.pipeline.flow import FLOW

CODE = [file for room in ("schemas", "services") for file in (REPOSITORY / room).rglob("*.py")]
# Made of a value: an amount, a reason, or a stage.
FAMILIES = {
    "amount": ("none", "light", "normal", "extra"),
    "note": tuple(NoteKind),
    "portion": ("left", "right"),
    "reason": tuple(r.value for r in ReviewReason),
    "step": tuple(stage.name.value for stage in FLOW.values()),
    "till": ("no_ref", "no_location", "other_total"),
    "trust": tuple(one for one in Trust if one is not Trust.TRUSTED),
}
TEMPLATES = REPOSITORY / "services" / "web" / "templates" / "customer"


def written(code: str) -> dict[str, dict[str, str]]:
    tables = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    return {name: table for name, table in tables.items() if name != "before"}


def filled_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", sorted(KNOWN))
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
    doubts = {f"doubt_{code}" for code in said}  # of a reason or a finding
    keys = {key for table in written(ENGLISH).values() for key in table}
    assert made <= keys
    assert not keys - said - made - doubts


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
