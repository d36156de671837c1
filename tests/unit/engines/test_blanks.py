"""An answer in the making: forced text is written, and only choices are left to the model."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from schemas.errors import DecodeInvalid, DecodeTruncated
from schemas.evidence import Evidence
from services.decoding.mask import BYTES, Mask
from services.engines.decoding import blanks
from services.engines.decoding.blanks import Answer, TooOpen
from services.engines.masks.grammar import build_form, build_mask
from services.engines.masks.labels import Labels
from services.reading.order import read_order
from tests.fuzz.drafts import any_draft, evidences
from tests.stand_ins import CAFE, NASTY

# The same examples each time, as in tests/fuzz. What random draws found is `many_spans.json` there. Whether
# it is the case known before (signs alone, an empty anchor beside a required wish) was not shown.
FUZZ = Path(__file__).parents[2] / "fuzz"
QUICK = settings(
    max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
LABELS = Labels(CAFE)


def mask(lark: str) -> Mask:
    return Mask(f"%llguidance {{}}\n{lark}\n", "test", 200)


def offered(answer: Answer, text: str) -> bool:
    """Whether `text`, or a text that begins with it, may follow the beginning."""
    matcher = LLMatcher(BYTES, answer.offered().lark)
    tokens = BYTES.tokenize_str(text)
    return bool(matcher.try_consume_tokens(tokens) == len(tokens))


def filled(answer: Answer, wish: str, rng: random.Random) -> None:
    """Let a model that would write `wish` fill the answer in, a token a time: a word or a part of one, up to
    five signs of JSON, or a sign."""
    while not answer.whole:
        assert wish.startswith(answer.beginning)
        rest = wish[len(answer.beginning) :]
        token = re.match(r' ?[^\W_]+|["{}\[\],:]{1,5}|.', rest)
        assert token is not None
        said = token[0][: rng.randint(1, 40)]
        assert offered(answer, said), (answer.beginning, said)
        answer.take(said)
    assert answer.text == wish


def anything(answer: Answer, rng: random.Random) -> str:
    """A piece of what is offered, its bytes chosen at random."""
    matcher, said = LLMatcher(BYTES, answer.offered().lark), bytearray()
    while len(said) < 12 and not matcher.is_accepting():
        weights = matcher.compute_logit_bias()
        said.append(rng.choice([byte for byte in range(256) if weights[byte]]))
        matcher.consume_token(said[-1])
    return said.decode(errors="ignore")


def test_what_is_forced_is_written_and_nothing_is_asked() -> None:
    answer = Answer(mask('start: "[1," ("2") "]"'))
    assert answer.whole
    assert answer.text == "[1,2]"


def test_only_the_choice_is_asked_for() -> None:
    answer = Answer(mask('start: "{\\"size\\":\\"" ("small" | "large") "\\",\\"count\\":1}"'))
    assert answer.beginning == '{"size":"'
    assert answer.tokens == 1
    answer.take("la")
    assert answer.whole
    assert answer.text == '{"size":"large","count":1}'


@pytest.mark.parametrize(
    ("lark", "beginning"),
    [
        ('start: "{\\"a\\":" ("1" | "2") "}"', '{"a":'),  # a number after signs
        ('start: "{\\"a\\":1" ("}" | ",\\"b\\":2}")', '{"a":1'),  # signs after a number
        ('start: "{\\"a\\":\\"x\\"" ("}" | ",\\"b\\":2}")', '{"a":"x'),  # `"}` may be one token
        ('start: "{\\"a\\":\\"vanilla " ("latte" | "tea") "\\"}"', '{"a":"vanilla'),  # and so may ` latte`
        ('start: "{\\"a\\":\\"latte" ("\\"}" | "s\\"}")', '{"a":"'),  # and `lattes`
        ('start: "{\\"a\\":\\"caf" ("é" | "è") "\\"}"', '{"a":"'),  # these begin with one byte
        ('start: ("a" | "b") "c"', ""),
    ],
)
def test_a_beginning_ends_where_a_token_does(lark: str, beginning: str) -> None:
    assert Answer(mask(lark)).beginning == beginning


def test_a_token_that_reaches_past_the_choice_is_offered() -> None:
    answer = Answer(mask('start: "{\\"a\\":1" ("}" | ",\\"b\\":" ("2" | "3") "}") ("]" | ",{\\"a\\":1}]")'))
    for token in ("}", "},{", '},{"', "}]", ",", ',"', ',"b', ',"b":2'):
        assert offered(answer, token), token
    assert not offered(answer, "},]")
    answer.take("},{")
    assert answer.text == '{"a":1},{"a":1}]'


def test_long_words_are_offered_whole() -> None:
    answer = Answer(mask('start: "{\\"a\\":\\"" ("cheeseburger" | "sandwich") "\\"}"'))
    assert offered(answer, "cheeseburger")


def test_in_the_midst_of_what_is_open_more_is_asked_for() -> None:
    answer = Answer(mask("start: /a{1,60}b/"))
    steps = []
    while not answer.whole:
        steps.append(answer.tokens)
        answer.take("a" * answer.tokens if len(steps) < 7 else "b")
    assert steps == [1, 1, 2, 4, 8, 16, 16]


def test_where_there_is_no_end_of_what_is_open_it_says_so() -> None:
    with pytest.raises(TooOpen):
        Answer(mask("start: /[a-z]{40}/")).offered()


@pytest.mark.parametrize("said", ["x", "}", '"', "\ud800"])
def test_what_was_not_offered_is_refused(said: str) -> None:
    answer = Answer(mask('start: "{\\"size\\":\\"" ("small" | "large") "\\"}"'))
    with pytest.raises(DecodeInvalid):
        answer.take(said)


def test_a_server_that_says_nothing_is_asked_once_more() -> None:
    """One token may be a part of a character, which has no text of its own."""
    answer = Answer(mask('start: "caf" ("é" | "è")'))
    answer.take("\ufffd")
    assert answer.tokens > 1
    answer.take("café")
    assert answer.whole
    again = Answer(mask('start: "caf" ("é" | "è")'))
    again.take("")
    with pytest.raises(DecodeTruncated, match="nothing"):
        again.take("")


def test_the_words_of_a_plain_line_are_written() -> None:
    heard = read_order("could I get two large oat lattes please", CAFE, 1)
    answer = Answer(build_form(heard, LABELS, "v"))
    assert answer.whole, "every word is accounted for, so nothing may be off the menu"
    assert answer.text.startswith(
        '{"lines":[{"kind":"item","heard":"two large oat lattes please","sku":"latte","quantity":2'
    )


def test_the_words_of_a_wish_off_the_menu_are_written() -> None:
    heard = read_order("a latte, medium, and two burritos, thanks", CAFE, 1)
    assert [off.words for off in heard.off_menu] == ["burritos"]
    answer = Answer(build_form(heard, LABELS, "v"))
    answer.take('"},{')
    assert '"kind":"not_on_menu","heard":"burritos,","quantity"' in answer.text


def test_where_nothing_was_understood_any_words_may_be_a_wish() -> None:
    heard = read_order("hello there", CAFE, 1).model_copy(update={"lines": (), "off_menu": ()})
    answer = Answer(build_form(heard, LABELS, "v"))
    assert not answer.whole
    assert offered(answer, '":[]}')
    assert offered(answer, '":[{"kind":"not_on_menu"')


def test_the_words_of_lines_that_share_a_place_are_left_open() -> None:
    heard = read_order("two lattes, one large and one small", CAFE, 1)
    shared = [line.model_copy(update={"copies": 2, "words": ""}) for line in heard.lines[:1]]
    answer = Answer(build_form(heard.model_copy(update={"lines": tuple(shared)}), LABELS, "v"))
    assert answer.beginning == '{"lines":[{"kind":"item","heard":"'


def many_spans() -> tuple[Mask, str]:
    """A mask of which one step costs more than llguidance allows a step by default, and a cart under it."""
    drawn = json.loads((FUZZ / "many_spans.json").read_text(encoding="utf-8"))
    evidence = Evidence.model_validate({**drawn["evidence"], "menu": NASTY.model_dump()})
    return build_mask(evidence, Labels(NASTY), "v"), drawn["wish"]


def test_an_answer_with_many_open_spans_of_signs_is_filled_in_whole() -> None:
    found, wish = many_spans()
    filled(Answer(found), wish, random.Random(1))


def test_what_the_matcher_can_not_follow_is_too_open(monkeypatch: pytest.MonkeyPatch) -> None:
    found, wish = many_spans()
    monkeypatch.setattr(blanks, "STEP_FUEL", 100_000)
    with pytest.raises(TooOpen):
        filled(Answer(found), wish, random.Random(1))


@QUICK
@given(evidences(), st.randoms(use_true_random=False))
def test_every_cart_of_a_mask_can_still_be_said(evidence: Evidence, rng: random.Random) -> None:
    labels = Labels(evidence.menu)
    wish = labels.to_wire(any_draft(rng, evidence))
    with suppress(TooOpen):
        filled(Answer(build_mask(evidence, labels, "v")), wish, rng)


@QUICK
@given(evidences(), st.randoms(use_true_random=False))
def test_a_form_is_a_part_of_its_mask(evidence: Evidence, rng: random.Random) -> None:
    """Whatever its own words are said to be, and however a model fills it in."""
    lines = [
        line.model_copy(update={"words": rng.choice([line.region, line.anchor, "nobody said this", ""])})
        for line in evidence.lines
    ]
    evidence = evidence.model_copy(update={"lines": tuple(lines)})
    labels = Labels(evidence.menu)
    answer = Answer(build_form(evidence, labels, "v"))
    while not answer.whole:
        try:
            answer.take(anything(answer, rng))
        except TooOpen:
            return
    assert build_mask(evidence, labels, "v").accepts(answer.text)
    json.loads(answer.text)
