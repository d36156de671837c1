"""The naive masks against llguidance, token by token, over SmolLM2's vocabulary; and one real decode."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.settings import REPOSITORY, Settings
from services.examples.by_hand import model as model_room
from services.examples.by_hand.__main__ import DATE, main
from services.examples.by_hand.automaton import automaton
from services.examples.by_hand.decode import decode
from services.examples.by_hand.figures import counts, tables
from services.examples.by_hand.json_machine import JsonMachine
from services.examples.by_hand.json_schema import read_schema
from services.examples.by_hand.library import LibraryMask, pattern_grammar, schema_grammar
from services.examples.by_hand.masks import (
    Anything,
    ByteMachine,
    ByteMask,
    LogitMask,
    plain_walk,
    sorted_walk,
)
from services.examples.by_hand.model import served, small_model
from services.examples.by_hand.steps import softmax
from services.examples.by_hand.tasks import read_tasks
from services.examples.by_hand.tokens import Tokens, read_tokens

pytestmark = pytest.mark.models

PLACES = 8  # of a random answer that are looked at
SEAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 6},
        "row": {"type": "integer", "minimum": 1, "maximum": 130},
        "class": {"enum": ["x", "xy", 1, 12, None]},
        "meals": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    },
    "required": ["name", "row", "class", "meals"],
    "additionalProperties": False,
}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 3}},
}
NUMBERS = {
    "type": "array",
    "items": {"type": "integer", "minimum": -15, "maximum": -3},
    "minItems": 1,
    "maxItems": 3,
}
# Pattern or schema -> a text that it takes.
CASES: dict[str, tuple[str | dict[str, Any], str]] = {
    "date": (DATE, "2024-02-29"),
    "choice": (r"(yes|no|maybe)( \([a-z ]{3,30}\))?", "maybe (if it rains)"),
    "any character": (r"[^x]{2}a.\n?", "é☕a!\n"),
    "ends in abb": ("(a|b)*abb", "abbabaabb"),
    "past ASCII": ("é(ñ)?|ü+", "üüü"),
    "address": (r"https?://[a-z0-9.\-]{1,20}(/[^ ?#/]{0,10})*", "https://example.org/a/long/é"),
    "object": (SEAT, '{"name":"Zoë\\n","row":103,"class":"xy","meals":[true,false]}'),
    "tree": (TREE, "[[],[[],[[[]]]]]"),
    "string": ({"type": "string", "maxLength": 8}, '"\\"☕\\u001f🍵 ok"'),
    "negative numbers": (NUMBERS, "[-3,-15,-9]"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return read_tokens(small_model())


@cache
def naive(name: str) -> tuple[ByteMachine[Any], dict[Any, Any]]:
    """A case's machine, and what masks of it have worked out."""
    form = CASES[name][0]
    return automaton(form) if isinstance(form, str) else JsonMachine(read_schema(form)), {}


def by_hand(name: str, tokens: Tokens) -> ByteMask:
    machine, seen = naive(name)
    return ByteMask(machine, tokens, seen)


def by_library(form: str | dict[str, Any], tokens: Tokens, *, forcing: bool) -> LibraryMask:
    make = pattern_grammar if isinstance(form, str) else schema_grammar
    return LibraryMask(make(form, forcing=forcing), tokens)  # type: ignore[arg-type]


def same(ours: LogitMask, theirs: LogitMask, tokens: Tokens) -> list[int]:
    """The tokens that both allow, having made sure that they are the same ones."""
    a, b = ours.allowed(), theirs.allowed()
    assert not (a != b).any(), [tokens.pieces[token] for token in (a != b).nonzero()[0][:5]]
    assert ours.may_end() == theirs.may_end() == a[tokens.end]
    return [int(token) for token in a.nonzero()[0]]


@pytest.mark.parametrize("name", CASES)
def test_along_a_text_both_allow_the_same(name: str, tokens: Tokens) -> None:
    form, text = CASES[name]
    ours, theirs = by_hand(name, tokens), by_library(form, tokens, forcing=False)
    for token in [*tokens.cut(text), tokens.end]:
        assert token in same(ours, theirs, tokens)
        ours.advance(token)
        theirs.advance(token)
    assert not ours.allowed().any()
    assert not theirs.allowed().any()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_at_random_places_both_allow_the_same(name: str, seed: int, tokens: Tokens) -> None:
    form, rng = CASES[name][0], random.Random(seed)
    ours, theirs = by_hand(name, tokens), by_library(form, tokens, forcing=False)
    for _ in range(PLACES):
        choices = same(ours, theirs, tokens)
        # Long tokens more often than chance would have them: they cross from one part into the next.
        token = max(rng.choices(choices, k=2), key=lambda t: len(tokens.pieces[t]))
        ours.advance(token)
        theirs.advance(token)
        if token == tokens.end:
            return


@pytest.mark.parametrize("name", ["date", "choice", "object", "tree"])
def test_where_text_is_forced_llguidance_opens_one_way_to_cut_it(name: str, tokens: Tokens) -> None:
    """Its default: where the masks differ, something is forced, and one token of ours is left of it."""
    form, text = CASES[name]
    ours, theirs = by_hand(name, tokens), by_library(form, tokens, forcing=True)
    left, fewer = text, 0
    while left:
        a, b, forced = ours.allowed(), theirs.allowed(), theirs.forced()
        if (a != b).any():
            fewer += 1
            assert forced
            assert b.sum() == 1
            assert not (b & ~a).any()
        token = tokens.cut(left)[0]
        if not b[token]:
            token = int(b.argmax())
        assert left.startswith(tokens.text([token]))
        left = left.removeprefix(tokens.text([token]))
        ours.advance(token)
        theirs.advance(token)
    assert bool(fewer) == (name == "object"), "the others force no more than a byte along their texts"


def test_minus_zero_is_the_librarys_alone(tokens: Tokens) -> None:
    """JSON has −0, and it equals 0; the naive machine writes each number in one way."""
    form = {"type": "integer", "minimum": -5, "maximum": 5}
    minus, zero = tokens.pieces.index(b"-"), tokens.pieces.index(b"0")
    ours = ByteMask(JsonMachine(read_schema(form)), tokens)
    theirs = by_library(form, tokens, forcing=False)
    ours.advance(minus)
    theirs.advance(minus)
    assert list((ours.allowed() != theirs.allowed()).nonzero()[0]) == [zero]


@pytest.mark.parametrize("name", ["date", "object"])
def test_sorted_tokens_give_the_same_set_as_one_by_one(name: str, tokens: Tokens) -> None:
    machine = naive(name)[0]
    assert (plain_walk(machine, machine.start, tokens) == sorted_walk(machine, machine.start, tokens)).all()


def test_a_small_model_decodes_by_hand(tokens: Tokens) -> None:
    pattern = "yes|no"
    with served(len(tokens.pieces)) as model:
        prompt = model.prompt(("user", "Tell me a long story about a dragon."))
        logits = model.logits(prompt)
        steps = list(
            decode(model, prompt, ByteMask(automaton(pattern), tokens), tokens, temperature=1, share=0.9)
        )
        free = list(decode(model, prompt, Anything(tokens), tokens, limit=2))
        text, written, ended = model.write(prompt, limit=2)
    assert (tokens.text([step.taken for step in free]), len(free)) == (text, written), (
        "as the server by itself"
    )
    assert not ended
    assert logits.shape == (len(tokens.pieces),)
    assert np.isfinite(logits).all()
    assert np.exp(logits).sum() == pytest.approx(1, abs=0.01), "log-probabilities: logits up to a constant"
    assert softmax(logits).max() == pytest.approx(steps[0].favourite_probability)
    assert re.fullmatch(pattern, tokens.text([step.taken for step in steps]))
    assert steps[-1].taken == tokens.end
    assert any(not step.favourite_allowed for step in steps), "a story is not what the mask lets it tell"
    assert all(0 < step.legal <= 1.001 for step in steps)


def test_the_command_shows_an_automaton_and_its_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--table", "--pattern", "(Mon|Tues|Wednes)day"]) == 0
    shown = capsys.readouterr().out
    page = (REPOSITORY / "docs/masking.md").read_text(encoding="utf-8")
    assert "'Wednesday'    0 → 3 → 6 → 9 → 12 → 14 → 16 → 10 → 13 → 15" in shown
    assert all(line in page for line in shown.splitlines())


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(model_room, "settings", lambda: Settings(models_dir=tmp_path))


def test_without_the_model_the_command_says_how_to_get_it(
    no_models: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["When was that?"]) == 2
    assert "models fetch" in capsys.readouterr().err


def test_the_kept_figures_are_those_of_the_kept_answers() -> None:
    kept = json.loads((REPOSITORY / "docs/benchmarks/masks/by-hand.json").read_text(encoding="utf-8"))
    assert counts(*read_tasks(), kept["answers"]) == kept["counts"]
    page = (REPOSITORY / "docs/masking.md").read_text(encoding="utf-8")
    assert [line for line in tables(kept) if line not in page] == []
    assert {(row["said"], row["way"]) for row in kept["answers"]} == {
        (task.said, way) for task in read_tasks()[1] for way in ("mask", "prompt")
    }
