"""The grammar tutor: one schema for its tool's arguments and return, and answers made of evidence alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from pydantic import ValidationError

from services.engines.ports import Message
from services.examples.conjugation.schema import Form
from services.examples.conjugation.task import HERE
from services.examples.conjugation.tool import CALLS, SAYABLE, Call, use
from services.examples.conjugation.tutor import SHOWN, answers, call_text, opening, put_right, tutor
from services.examples.conjugation.tutor_run import ask_one, figures
from services.masked.output import OutputType, output_type

T = TypeVar("T")
CALL = Call(tool="conjugate", arguments=Form(verb="write", tense="past", person="third"))
CALLED = call_text("other none past", "write past third")
WRITED = "She writed a book yesterday."
ROWS = [json.loads(line) for line in (HERE / "tutor_gold.jsonl").read_text(encoding="utf-8").splitlines()]


class Scripted:
    """Says what it is given, as far as the mask lets it."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self.chats: list[list[Message]] = []

    def __call__(self, output: OutputType[T], chat: Sequence[Message]) -> T:
        self.chats.append(list(chat))
        text = self._texts.pop(0)
        assert output.mask.accepts(text), text
        return output.read(text)


def mistake(error: str, replace: str, by: str) -> str:
    return json.dumps({"error": error, "replace": replace, "by": by}, separators=(",", ":"))


def test_the_tool_is_asked_and_its_words_are_put_in() -> None:
    model = Scripted(CALLED, mistake("wrong form", "writed", "wrote"))
    lesson = tutor(WRITED, model)
    assert lesson.used is not None
    assert lesson.used.returns == "wrote"
    assert (lesson.error, lesson.corrected) == ("wrong form", "She wrote a book yesterday.")
    assert model.chats[1][-1]["content"] == 'conjugate returned "wrote".'
    assert model.chats[1][: len(model.chats[0])] == model.chats[0]


def test_what_has_all_the_words_of_its_form_is_left_alone_and_not_asked_about() -> None:
    model = Scripted(CALLED)
    lesson = tutor("She wrote a book.", model)
    assert (lesson.error, lesson.corrected, len(model.chats)) == ("", "She wrote a book.", 1)


def test_without_a_verb_of_the_20_there_is_no_tool_and_no_error() -> None:
    lesson = tutor("She sleeped.", Scripted('{"tool":null}'))
    assert (lesson.error, lesson.used) == ("", None)


@pytest.mark.parametrize("said", ["writed", "", "wrote it", "swam"])
def test_a_tool_that_returns_none_of_its_words_is_refused(said: str) -> None:
    with pytest.raises(ValidationError, match="no form of any of the 20 verbs"):
        use(CALL, lambda **_: said)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("write", "swim"),
        ("past", "pluperfect"),
        ("third", "3"),
        ("conjugate", "delete"),
        ('"tense":"past', '"tense":"present'),  # against what it said of time
        ("third", "first"),  # against the subject
    ],
)
def test_arguments_that_the_tool_has_no_place_for_are_never_written(part: str, other: str) -> None:
    text = CALLED
    mask = CALLS.mask
    assert mask.accepts(text)
    assert not mask.accepts(text.replace(f"{part}", f"{other}"))


@pytest.mark.parametrize(
    ("error", "replace", "by"),
    [
        ("wrong form", "writed", "writes"),  # not what the tool returned
        ("wrong form", "writed", "wroted"),
        ("wrong form", "wrote", "wrote"),  # none of the learner's words
        ("wrong form", "writed a", "wrote"),
        ("spelling", "writed", "wrote"),
    ],
)
def test_an_answer_is_of_the_learners_words_and_the_tools(error: str, replace: str, by: str) -> None:
    output = answers(WRITED, "wrote")
    assert output is not None
    assert output.mask.accepts(mistake("wrong form", "writed", "wrote"))
    assert output.mask.accepts('{"error":"none"}')
    assert not output.mask.accepts(mistake(error, replace, by))


def test_words_that_the_form_has_are_not_replaced() -> None:
    output = answers("She has wrote to me.", "has written")
    assert output is not None
    assert output.mask.accepts(mistake("wrong form", "wrote", "written"))
    assert not output.mask.accepts(mistake("wrong form", "has", "written"))
    assert not output.mask.accepts(mistake("wrong form", "wrote", "has written"))


@pytest.mark.parametrize(
    ("sentence", "replace", "by", "corrected"),
    [
        ("Go he to you to play?", "to (2)", "will", "Go he to you will play?"),
        ("Writed she it?", "Writed", "wrote", "Wrote she it?"),
        ("She don't go.", "don't", "will", "She will go."),
    ],
)
def test_only_the_one_word_changes(sentence: str, replace: str, by: str, corrected: str) -> None:
    assert put_right(sentence, replace, by) == corrected


def returning(row: dict[str, Any]) -> str:
    """A form of the tool's by which the gold correction is made."""
    there = row["text"].lower().rstrip(".").split()
    for form in SAYABLE:
        by = " ".join(word for word in form.split() if word not in there)
        if by and put_right(row["text"], row["gold"]["replace"], by) in row["gold"]["corrected"]:
            return form
    raise AssertionError(f"no form mends {row['text']!r}")


def test_the_mask_allows_every_gold_correction() -> None:
    assert len(ROWS) == 60
    wrong = [row for row in ROWS if row["gold"]]
    assert len(wrong) == 30
    for row in wrong:
        output, form = answers(row["text"], returning(row)), returning(row)
        assert output is not None
        by = " ".join(word for word in form.split() if word not in row["text"].lower().rstrip(".").split())
        assert output.mask.accepts(mistake(row["gold"]["error"], row["gold"]["replace"], by)), row["text"]


def test_a_mask_of_one_call_is_not_kept() -> None:
    before = output_type.cache_info().currsize
    for number in range(3):
        answers(f"She writed book {'abc'[number]}.", "wrote")
    assert output_type.cache_info().currsize == before


def test_what_is_shown_could_have_been_answered() -> None:
    for sentence, seen, form, words, told in SHOWN:
        text = call_text(seen, form)
        assert CALLS.mask.accepts(text)
        call = CALLS.read(text)
        if call is None:
            continue
        assert use(call).returns == words
        output = answers(sentence, words)
        assert (output is None) == (not told)
        assert output is None or output.mask.accepts(told)
    shown = {text["content"] for text in opening()} & {row["text"] for row in ROWS}
    assert not shown


def test_figures_count_errors_and_false_alarms_apart() -> None:
    wrong = {
        "id": "w",
        "text": WRITED,
        "gold": {"error": "wrong form", "corrected": ["She wrote a book yesterday."]},
    }
    right = {"id": "r", "text": "I wrote to you.", "gold": None}
    texts: list[str] = []
    corrected = ask_one(wrong, Scripted(CALLED, mistake("agreement", "writed", "wrote")), texts)
    called = call_text("I none future", "write future first")
    alarm = ask_one(right, Scripted(called, mistake("wrong tense", "wrote", "will write")), texts)
    made = figures([wrong, right], [corrected, alarm])
    hits = {name: (made[name]["hits"], made[name]["of"]) for name in made if name != "failures"}
    assert hits == {
        "found": (1, 1), "corrected": (1, 1), "named": (0, 1), "false_alarms": (1, 1), "left_alone": (0, 1),
    }  # fmt: skip
