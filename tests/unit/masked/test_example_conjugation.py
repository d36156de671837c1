"""The closed universe of the conjugation example: its mask, the mask as a table, the words, and the gold."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llguidance import LLMatcher

from infra.settings import settings
from infra.weights.models import resolve
from services.engines.masks.mask import BYTES, Mask
from services.engines.masks.vocabulary import read_vocabulary
from services.examples.conjugation.conjugate import conjugate
from services.examples.conjugation.schema import FORMS, PERSONS, TENSES, VERBS, Form, Found, NoForm
from services.examples.conjugation.table import MaskTable, automaton, mask_table
from services.examples.conjugation.task import CONJUGATION, EXAMPLE, FORM_ALONE, HERE, judge
from services.examples.example import Row
from services.masked.output import output_type

MODEL = "smollm2-135m-instruct-q4_1.gguf"
TEXTS = {form.model_dump_json() for form in FORMS}
CLOSED = output_type(Form).mask
NOTHING = '{"verb":null}'

# Base, third person, past, participle: as a grammar book lists them.
PRINCIPAL_PARTS = """
break breaks broke broken       | bring brings brought brought | buy buys bought bought
dance dances danced danced      | drink drinks drank drunk     | eat eats ate eaten
give gives gave given           | go goes went gone            | have has had had
play plays played played        | put puts put put             | read reads read read
see sees saw seen               | stop stops stopped stopped   | study studies studied studied
take takes took taken           | teach teaches taught taught  | walk walks walked walked
watch watches watched watched   | write writes wrote written
"""
PARTS = [part.split() for line in PRINCIPAL_PARTS.strip().splitlines() for part in line.split("|")]


def bits(row: bytes) -> Any:
    return np.unpackbits(np.frombuffer(row, np.uint8), bitorder="little")


def every_text(mask: Mask) -> list[str]:
    """All that the mask allows, found by following every byte that it leaves open."""
    matcher, found, text = LLMatcher(BYTES, mask.lark), [], bytearray()

    def walk() -> None:
        if matcher.is_accepting():
            found.append(text.decode())
        for byte in np.nonzero(bits(matcher.compute_bitmask())[:256])[0].tolist():
            assert matcher.consume_token(byte)
            text.append(byte)
            walk()
            text.pop()
            assert matcher.rollback(1)

    walk()
    return found


def test_the_mask_allows_the_300_forms_and_no_other_text() -> None:
    assert len(TEXTS) == 300
    assert sorted(every_text(CLOSED)) == sorted(TEXTS)


def test_with_the_way_out_it_allows_one_text_more() -> None:
    assert sorted(every_text(FORM_ALONE.output.mask)) == sorted({*TEXTS, NOTHING})


def test_by_way_of_evidence_each_form_is_reached_and_nothing_else_is_said() -> None:
    read = {CONJUGATION.output.read(text).model_dump_json() for text in every_text(CONJUGATION.output.mask)}
    assert read == {*TEXTS, NOTHING}


@pytest.mark.parametrize(
    ("subject", "helper", "verb", "tense", "person"),
    [
        ("we", "did", "go", "past", "second"),
        ("we", "did", "go", "present", "first"),
        ("other", "had", "have", "present perfect", "third"),
        ("you", "none", "read", "future", "second"),
        ("I", "other", "eat", "present", "first"),
    ],
)
def test_no_form_contradicts_its_evidence(
    subject: str, helper: str, verb: str, tense: str, person: str
) -> None:
    said = {"subject": subject, "helper": helper, "verb": verb, "tense": tense, "person": person}
    assert not CONJUGATION.output.mask.accepts(json.dumps(said, separators=(",", ":")))


@pytest.mark.parametrize("text", sorted({*TEXTS, NOTHING})[::50])
def test_what_the_mask_allows_is_read_as_what_it_says(text: str) -> None:
    assert FORM_ALONE.output.read(text).model_dump_json() == text


@pytest.fixture(scope="module")
def real() -> tuple[Any, MaskTable]:
    """The tokenizer of a real model, and the table over its vocabulary."""
    vocabulary = read_vocabulary(Path(resolve(MODEL, settings().models_dir)))
    tokenizer = vocabulary.tokenizer()
    written = [
        b"" if tokenizer.is_special_token(token) else bytes(tokenizer.decode_bytes([token]))
        for token in range(vocabulary.size)
    ]
    return tokenizer, mask_table(automaton(TEXTS), written, vocabulary.end)


def ways(table: MaskTable) -> list[tuple[int, list[int]]]:
    """Each state by each of its arrows: the tokens of one way there."""
    first: dict[int, list[int]] = {0: []}
    found: list[tuple[int, list[int]]] = [(0, [])]
    waiting = [0]
    while waiting:
        state = waiting.pop(0)
        for token, after in table.follows[state].items():
            found.append((after, [*first[state], token]))
            if after not in first:
                first[after] = found[-1][1]
                waiting.append(after)
    return found


def test_the_table_is_llguidances_mask_at_every_state(real: tuple[Any, MaskTable]) -> None:
    tokenizer, table = real
    unforced = CLOSED.lark.replace("%llguidance {}", '%llguidance {"no_forcing": true}')
    reached = ways(table)
    assert {state for state, _ in reached} == set(table.masks)
    for state, tokens in reached:
        matcher = LLMatcher(tokenizer, unforced)
        assert matcher.try_consume_tokens(tokens) == len(tokens)
        theirs, ours = bits(matcher.compute_bitmask()), bits(table.masks[state])
        assert np.array_equal(theirs[: table.size], ours[: table.size])
        assert not theirs[table.size :].any()


def test_forcing_takes_one_way_of_writing_what_must_follow(real: tuple[Any, MaskTable]) -> None:
    tokenizer, table = real
    fewer = 0
    for state, tokens in ways(table):
        matcher = LLMatcher(tokenizer, CLOSED.lark)
        assert matcher.try_consume_tokens(tokens) == len(tokens)
        forced, ours = bits(matcher.compute_bitmask())[: table.size], bits(table.masks[state])[: table.size]
        assert not (forced & ~ours & 1).any()
        if not np.array_equal(forced, ours):
            fewer += 1
            assert forced.sum() == 1
            first = {tokenizer.decode_bytes([token])[0] for token in table.follows[state]}
            assert len(first) == 1, "only where the next byte is settled"
    assert fewer


def test_the_table_allows_every_form_however_it_is_cut(real: tuple[Any, MaskTable]) -> None:
    tokenizer, table = real
    for text in sorted(TEXTS)[::20]:
        assert table.allows(tokenizer.tokenize_str(text))
        assert table.allows([token for sign in text for token in tokenizer.tokenize_str(sign)])
    near = sorted(TEXTS)[0]
    for text in (near[:-1], near + "}", near.replace("break", "brake"), "", NOTHING):
        assert not table.allows(tokenizer.tokenize_str(text))


def test_an_automaton_needs_a_text() -> None:
    with pytest.raises(ValueError, match="needs a text"):
        automaton([])


def test_all_300_forms_have_their_words() -> None:
    assert sorted(base for base, *_ in PARTS) == sorted(VERBS)
    for base, third, past, participle in PARTS:
        present = {"first": base, "second": base, "third": third}
        have = {"first": "have", "second": "have", "third": "has"}
        for person, pronoun in zip(PERSONS, ("I", "you", "she"), strict=True):
            written = {
                "present": present[person],
                "past": past,
                "future": f"will {base}",
                "present perfect": f"{have[person]} {participle}",
                "past perfect": f"had {participle}",
            }
            assert {tense: conjugate(base, tense, person) for tense in TENSES} == {
                tense: f"{pronoun} {words}" for tense, words in written.items()
            }


def rows(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / file).read_text(encoding="utf-8").splitlines()]


def test_gold_has_all_tenses_and_persons_and_every_kind_of_sentence() -> None:
    gold = rows("gold.jsonl")
    assert len(gold) == 150
    inside = [row for row in gold if row["gold"]]
    assert {(row["gold"]["tense"], row["gold"]["person"]) for row in inside} == {
        (tense, person) for tense in TENSES for person in PERSONS
    }
    assert set(Counter((row["gold"]["verb"], row["gold"]["tense"]) for row in inside)) == {
        (verb, tense) for verb in VERBS for tense in TENSES
    }
    assert {row["kind"] for row in gold} == {"statement", "negative", "question"}
    assert {row["outside"] for row in gold if not row["gold"]} == {
        "other-verb", "not-the-main-verb", "other-tense",
    }  # fmt: skip
    for row in gold:
        assert FORM_ALONE.output.mask.accepts(
            json.dumps(row["gold"], separators=(",", ":")) if row["gold"] else NOTHING
        )


def test_no_sentence_that_is_scored_was_shown_or_tried_before() -> None:
    scored = {row["text"] for file in ("gold.jsonl", "tutor_gold.jsonl") for row in rows(file)}
    seen = {row["text"] for file in ("dev.jsonl", "tutor_dev.jsonl") for row in rows(file)}
    seen |= {said for task in EXAMPLE.tasks for said, _ in task.examples}
    assert not scored & seen


GOLD = {"verb": "go", "tense": "past", "person": "third"}


@pytest.mark.parametrize(
    ("value", "gold", "marks"),
    [
        (Found(Form(**GOLD)), GOLD, {"right", "verb", "tense", "person", "inside"}),
        (Found(Form(**{**GOLD, "tense": "future"})), GOLD, {"verb", "person"}),
        (Found(NoForm(verb=None)), GOLD, set()),
        (Found(NoForm(verb=None)), None, {"right", "verb", "tense", "person", "outside"}),
        (Found(Form(**GOLD)), None, set()),
    ],
)
def test_marks(value: Found, gold: Any, marks: set[str]) -> None:
    found = judge(value, Row("r", "She went.", gold, {}))
    assert {mark for mark, hit in found.items() if hit} == marks


def test_the_example_shows_its_task_first() -> None:
    assert EXAMPLE.tasks == (CONJUGATION, FORM_ALONE)
    assert len(EXAMPLE.rows()) == 150
