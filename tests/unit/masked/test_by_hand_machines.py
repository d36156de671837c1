"""The machines that read bytes: held against Python's `re`, and against the jsonschema package."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import DecodeInvalid, InputError
from services.examples.by_hand.automaton import automaton
from services.examples.by_hand.json_machine import JsonMachine
from services.examples.by_hand.json_schema import read_schema
from services.examples.by_hand.masks import ByteMachine, ByteMask, plain_walk, sorted_walk, walk
from services.examples.by_hand.show import states
from services.examples.by_hand.tasks import read_tasks
from services.examples.by_hand.tokens import Tokens

# With the signs that their random texts are made of.
PATTERNS = {
    "[0-9]{4}-(0[1-9]|1[0-2])": "019-",
    "(a|b)*abb": "ab",
    "a{0,3}b{2,}c{2}": "abc",
    "(ab?)+(c|)": "abc",
    "[^b-d]x?": "abx\né☕",
    ".é+|(ñ|☕){2}": "éñ☕a\n",
    r"\[\x41\t\]\.?": "[]A\t.",
    "(a?){3}(a|ab)*": "ab",
    r"[\-\]\\^]*": "-]\\^a",
}
SEAT = {"type": "object", "properties": {"row": {"type": "integer", "minimum": -12, "maximum": 130}, "aisle":
        {"type": "boolean"}}, "required": ["row", "aisle"], "additionalProperties": False}  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "object": SEAT,
    "nothing in it": {"type": "object", "properties": {}, "additionalProperties": False},
    "values that begin alike": {"enum": ["x", "xy", 1, 12, None, "é"]},
    "array": {"type": "array", "items": SEAT, "minItems": 1, "maxItems": 3},
    "numbers": {"type": "array", "items": {"type": "integer", "minimum": 7, "maximum": 1203}, "maxItems": 4},
    "string": {"type": "string", "minLength": 2, "maxLength": 4},
    "itself": {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"},
               "maxItems": 2}}},
}  # fmt: skip


def reads(machine: ByteMachine[Any], text: str) -> bool:
    state = walk(machine, machine.start, text.encode())
    return state is not None and machine.accepts(state)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_automaton_takes_what_pythons_re_takes(pattern: str) -> None:
    machine, rng, taken = automaton(pattern), random.Random(5), 0
    for _ in range(3000):
        text = "".join(rng.choices(PATTERNS[pattern], k=rng.randint(0, 8)))
        assert reads(machine, text) == bool(re.fullmatch(pattern, text)), text
        taken += reads(machine, text)
    assert taken, "some of the texts are to match"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_state_leads_to_an_accepting_one(pattern: str) -> None:
    machine = automaton(pattern)
    good = set(machine.accepting)
    while new := {s for s, moves in enumerate(machine.moves) if s not in good and good & set(moves.values())}:
        good |= new
    assert good == set(range(len(machine.moves)))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"\d+", "write [0-9]"),
        ("^a$", "always has to match"),
        ("a+?", "lazy"),
        ("(?i)a", "look-around"),
        (r"(a)\1", "of letters"),
        ("[]", "no sign"),
        ("[é]", "ASCII alone"),
        ("[a-", "not closed"),
        ("(a", "not closed"),
        ("a)", "never opened"),
        ("*a", "nothing before it"),
        ("a{3,2}", "greater number"),
        ("(" * 60 + ")" * 60, "nested"),
        ("(a{1000}){1000}", "5,000 states"),
        ("(a|b)*a(a|b){15}", "5,000 states"),
    ],
)
def test_what_is_outside_the_subset_is_refused_in_words(pattern: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        automaton(pattern)
    assert why in refused.value.detail


@pytest.mark.parametrize("name", SCHEMAS)
def test_whatever_the_json_machine_lets_through_is_valid(name: str) -> None:
    machine, valid, rng = (
        JsonMachine(read_schema(SCHEMAS[name])),
        Draft202012Validator(SCHEMAS[name]),
        random.Random(3),
    )
    for _ in range(20):
        state, text = machine.start, b""
        while True:
            after = {byte: s for byte in range(256) if (s := machine.step(state, byte)) is not None}
            assert after or machine.accepts(state), f"a dead end after {text!r}"
            if machine.accepts(state) and (not after or rng.random() < 0.5):
                break
            byte = rng.choice(list(after))
            state, text = after[byte], text + bytes([byte])
        valid.validate(json.loads(text))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("object", '{"row":-12,"aisle":true}', '{"row":-13,"aisle":true}'),
        ("object", '{"row":130,"aisle":false}', '{"row":131,"aisle":false}'),
        ("object", '{"row":0,"aisle":true}', '{"row":01,"aisle":true}'),
        ("object", '{"row":9,"aisle":true}', '{"aisle":true,"row":9}'),
        ("object", '{"row":9,"aisle":true}', '{"row":9,"aisle":true,}'),
        ("object", '{"row":9,"aisle":true}', '{"row": 9,"aisle":true}'),
        ("nothing in it", "{}", '{"a":1}'),
        ("values that begin alike", "12", "13"),
        ("values that begin alike", '"xy"', "xy"),
        ("values that begin alike", '"é"', '"e"'),
        ("numbers", "[]", "[,]"),
        ("numbers", "[7,1203]", "[7,1204]"),
        ("numbers", "[10,10,10,10]", "[10,10,10,10,10]"),
        ("string", '"☕\\n"', '"☕"'),
        ("string", '"\\u001f\\"☕é"', '"\\u0041a"'),
        ("string", '"abcd"', '"abcde"'),
        ("itself", "[[],[[[],[]]]]", "[[],[[[],[]]]"),
    ],
)
def test_json_by_hand(name: str, good: str, bad: str) -> None:
    machine = JsonMachine(read_schema(SCHEMAS[name]))
    assert reads(machine, good)
    assert not reads(machine, bad)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "without bounds"),
        ({"type": "integer", "minimum": 1}, "without bounds"),
        ({"type": "integer", "minimum": 3, "maximum": 1}, "greater"),
        ({"type": "number"}, "is not read"),
        ({"type": "string", "maxLength": 3, "pattern": "a"}, "pattern is not read"),
        ({"anyOf": []}, "is not read"),
        ({"type": "object", "properties": {}}, "additionalProperties"),
        ({**SEAT, "required": ["row"]}, "required"),
        ({"enum": []}, "without values"),
        ({"$ref": "#/$defs/none"}, "names no definition"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "only a $ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1,
          "maxItems": 1}}}, "without a way out"),
    ],
)  # fmt: skip
def test_a_schema_outside_the_subset_is_refused_in_words(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError) as refused:
        read_schema(schema)
    assert why in refused.value.detail


MADE_UP = Tokens((b"", b"a", b"ab", b"abb", b"b", b"bb", "é".encode(), b"\xc3", b"ba"), end=0)


def test_from_bytes_to_tokens() -> None:
    machine = automaton("(a|b)*abb")
    mask = ByteMask(machine, MADE_UP)
    assert list(mask.allowed().nonzero()[0]) == [1, 2, 3, 4, 5, 8]
    mask.advance(2)
    assert not mask.may_end()
    mask.advance(4)
    assert mask.may_end()
    assert mask.allowed()[MADE_UP.end]
    with pytest.raises(DecodeInvalid):
        mask.advance(6)
    mask.advance(MADE_UP.end)
    assert not mask.allowed().any()


def test_half_a_character_may_come_first() -> None:
    assert list(sorted_walk(automaton("é"), 0, MADE_UP).nonzero()[0]) == [6, 7]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sorted_tokens_give_the_same_set(pattern: str) -> None:
    machine = automaton(pattern)
    for state in range(len(machine.moves)):
        assert (sorted_walk(machine, state, MADE_UP) == plain_walk(machine, state, MADE_UP)).all()


def test_the_table_of_states() -> None:
    assert list(states(automaton("[a-c]x?"))) == [
        "   0  a-c → 1",
        "   1* x → 2",
        "   2* nothing may follow",
    ]


def test_tasks_gold_is_of_its_kind() -> None:
    kinds, tasks = read_tasks()
    assert len({task.said for task in tasks}) == 40
    for task in tasks:
        assert reads(kinds[task.kind].machine, task.gold)
        assert kinds[task.kind].found(f"Sure! Here: {task.gold} Bye.") == task.gold


def test_an_answer_without_a_mask_is_not_measured_by_spaces() -> None:
    kind = read_tasks()[0]["booking"]
    spaced = '{ "guests": 2, "name": "Kim", "meal": "lunch", "outside": true }'
    assert kind.valid(spaced)
    assert kind.found(f"```json\n{spaced}\n```") == '{"name":"Kim","guests":2,"meal":"lunch","outside":true}'
    assert not kind.valid(spaced.replace("2", '"2"'))
    assert not kind.valid(f"Sure! {spaced}")
