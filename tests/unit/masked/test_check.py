"""`saycart-masked check`: what a mask refuses or allows that its model does not, and how the command ends."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, create_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from services.clients.masked.saycart_masked import OutputType
from services.clients.masked.saycart_masked import check as command
from services.clients.masked.saycart_masked.check import ALLOWED, REFUSED, RULES, by_model, check
from tests.servers.staged_server import completion, staged_server
from tests.unit.masked.test_masked_bounds import ALLOWED as KINDS
from tests.unit.masked.test_masked_bounds import Cat, Dog, Short, of

GOOD = '{"priority":"low","needs_human":false}'
TICKET = "tests.masked_tasks:Ticket"
HERE = "tests.unit.masked"


def model(kind: Any, **more: Any) -> type[BaseModel]:
    return create_model("Model", x=(kind, ...), **more)


@pytest.mark.parametrize("kind", [kind for kind, *_ in KINDS.values()], ids=list(KINDS))
def test_a_mask_and_its_model_agree(kind: Any) -> None:
    assert not check(of(kind), by_model(model(kind)))


# Too short without its spaces, of which its schema says nothing.
Stripped = model(Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2)])


def up_to(most: int, **more: Any) -> Any:
    return Annotated[int, Field(ge=0, le=most, **more)]


def many(kind: Any, most: int, least: int = 0) -> Any:
    return Annotated[list[kind], Field(min_length=least, max_length=most)]


# A type, the same with one change, and where the masks of both differ.
CHANGED: dict[str, tuple[Any, Any, str]] = {
    "a longer text": (Short, Annotated[str, Field(max_length=4)], "/x: a value"),
    "a shorter text": (Annotated[str, Field(min_length=2, max_length=3)], Short, "/x: a value"),
    "another form": (
        Annotated[str, Field(max_length=3, pattern="^[a-f]+$")],
        Annotated[str, Field(max_length=3, pattern="^[A-Fa-f]+$")],
        "/x: nearly a value",
    ),
    "a larger number": (up_to(12), up_to(13), "/x: a value"),
    "a finer step": (up_to(20, multiple_of=5), up_to(20), "/x: a value"),
    "one choice more": (Literal["a", "b"], Literal["a", "b", "c"], "/x: "),
    "another case": (Literal["a"], Literal["a", "A"], "/x: nearly a value"),
    "a longer list": (many(bool, 2), many(bool, 3), "/x: 3 items"),
    "an empty list": (many(bool, 2, 1), many(bool, 2), "/x: 0 items"),
    "deep inside": (many(many(Cat, 2), 2), many(many(Cat | Dog, 2), 2), "/x/*/*"),
    "null": (bool, bool | None, "/x: another type"),
    "a text for a number": (up_to(3), up_to(3) | Short, "/x: "),
    "a field less": (
        create_model("In", a=(bool, ...), b=(bool, ...)),
        create_model("In", a=(bool, ...), b=(bool, True)),
        "/x/b: missing",
    ),
    "days that are not": (date, Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$", max_length=10)], "/x: "),
}


@pytest.mark.parametrize("what", CHANGED)
def test_one_change_is_found_at_its_place(what: str) -> None:
    narrow, wide, place = CHANGED[what]
    allowed = check(of(wide), by_model(model(narrow)))
    assert [text for (how, at), text in allowed.items() if how == ALLOWED and at.startswith(place)], allowed


@pytest.mark.parametrize(
    "what", ["a longer text", "a larger number", "one choice more", "null", "a field less"]
)
def test_a_valid_text_that_a_mask_refuses_is_found(what: str) -> None:
    narrow, wide, _ = CHANGED[what]
    found = check(replace(of(wide), mask=of(narrow).mask), by_model(model(wide)))
    assert {how for how, _ in found} == {REFUSED}


def test_a_field_more_is_found_with_its_shortest_text() -> None:
    found = check(OutputType.of(model(bool, y=(bool, True))), by_model(model(bool)))
    assert found[ALLOWED, ": all fields"] == '{"x":true,"y":true}'


def test_a_models_own_rules_are_told_apart() -> None:
    def known(text: str) -> str:
        raise ValueError(text)

    rules = model(Annotated[Short, AfterValidator(known)])
    assert {how for how, _ in check(OutputType.of(rules), by_model(rules))} == {RULES}


def ran(monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["saycart-masked", "check", *words])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return ended.value.code


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "other.json").write_text("{}")
    vocabulary = {
        sign: n for n, sign in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), "tr", "true"])
    }
    tokenizer = Tokenizer(models.BPE(vocabulary, [("t", "r")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["</s>"])  # without an end of its own, llguidance takes "!" for one
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        ([TICKET], 0, f"{RULES}: /: at random"),
        ([f"{HERE}.test_masked_bounds:Dog"], 0, "0 differences"),
        ([TICKET, "--tokenizer", "tokenizer.json"], 0, "1 differences"),
        ([f"{HERE}.test_check:Stripped"], 1, f"{ALLOWED}: /x: a value"),
        ([f"{HERE}.test_masked_bounds:Node"], "unmaskable_model: /next/anyOf/0: Node contains itself", ""),
        (["nowhere:Ticket"], 2, "Pass MODULE:MODEL"),
        (["tests.masked_tasks:word"], 2, "Pass MODULE:MODEL"),
        ([TICKET, "--tokenizer", "other.json"], 2, "error loading tokenizer"),
    ],
)
def test_how_the_command_ends(
    words: list[str], code: Any, shown: str, files: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(files)
    ended = ran(monkeypatch, *words)
    assert ended == code or str(ended).startswith(str(code))
    assert shown in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("answer", "code"), [(GOOD, 0), (GOOD.replace("low", "urgent"), "decode_invalid"), ("", "decode_invalid")]
)
def test_an_engines_answer_has_to_be_valid(answer: str, code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with staged_server(lambda body: completion(answer)) as server:
        ended = ran(monkeypatch, TICKET, "--url", server.url, "--model", "qwen")
    assert str(ended).startswith(str(code))
