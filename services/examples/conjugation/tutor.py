"""The grammar tutor: a learner's sentence -> the error in its verb and the sentence put right, or no error.

Two steps, each under a mask. First the model fills in the tool's arguments: the form that the sentence
should have. The tool returns its words. Then the model answers, and what it may answer is made of this
sentence and those words alone: the word to be replaced is one of the learner's own, and what comes in its
place are the words of the form that the sentence lacks. A sentence that has all of them has no error that
this tutor could mend, and the model is not asked.

The second mask is made for one call, and is not kept: `output_type` keeps what it makes, and a thousand
sentences would push all other models out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, RootModel, create_model

from schemas.writable import writable
from services.engines.ports import Message
from services.examples.conjugation.tool import CALLS, Call, Returning, use
from services.masked.output import OutputType

T = TypeVar("T")

PROMPT = (Path(__file__).parent / "tutor.md").read_text(encoding="utf-8")
Error = Literal["wrong form", "agreement", "wrong tense"]
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Ask(Protocol):
    """Asks a model: under the mask of `output`, or in any other way that ends in its value."""

    def __call__(self, output: OutputType[T], chat: Sequence[Message]) -> T:
        """Raises as `services.masked.call.answer`."""
        ...


class NoError(BaseModel, frozen=True):
    """The sentence may stay as it is."""

    error: Literal["none"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the tutor says. `error` is empty where it finds none; `used` is None where no tool was asked."""

    sentence: str
    corrected: str
    error: str = ""
    replace: str = ""
    by: str = ""
    used: Returning | None = None


def tutor(sentence: str, ask: Ask) -> Lesson:
    """One sentence, of which one word is replaced at most.

    Raises: as `ask`.
    """
    chat = [*opening(), _said("user", writable(sentence))]
    texts: list[str] = []

    def kept(text: str) -> Call | None:
        texts.append(text)
        return CALLS.read(text)

    call = ask(replace(CALLS, read=kept), chat)
    if call is None:
        return Lesson(sentence, sentence)
    used = use(call)
    output = answers(sentence, used.returns)
    if output is None:
        return Lesson(sentence, sentence, used=used)
    chat += [_said("assistant", texts[0]), _said("user", returned(used.returns))]
    found: Any = ask(output, chat).root
    if isinstance(found, NoError):
        return Lesson(sentence, sentence, used=used)
    corrected = put_right(sentence, found.replace, found.by)
    return Lesson(sentence, corrected, found.error, found.replace, found.by, used)


def answers(sentence: str, form: str) -> OutputType[RootModel[Any]] | None:
    """What may be said of this sentence when the tool has returned `form`; None where the sentence has all
    of its words already, or no other word that could be wrong."""
    there = {word.lower() for word in _WORD.findall(sentence)}
    lacking = [word for word in form.split() if word not in there]
    wrong = [label for label in places(sentence) if label.partition(" ")[0].lower() not in form.split()]
    if not lacking or not wrong:
        return None
    # Types that are known only now, and to the type checker not at all.
    own: Any = Literal[tuple(wrong)]
    put: Any = Literal[(" ".join(lacking),)]
    mistake: Any = create_model("Mistake", error=(Error, ...), replace=(own, ...), by=(put, ...))
    return OutputType.of(RootModel[NoError | mistake])


def places(sentence: str) -> dict[str, tuple[int, int]]:
    """Where each of the learner's words stands; the second "to" of a sentence is named "to (2)"."""
    found: dict[str, tuple[int, int]] = {}
    for match in _WORD.finditer(sentence):
        again = sum(label.partition(" ")[0] == match[0] for label in found)
        found[f"{match[0]} ({again + 1})" if again else match[0]] = match.span()
    return found


def put_right(sentence: str, replace: str, by: str) -> str:
    """All of the sentence but one word, as the learner wrote it."""
    begin, end = places(sentence)[replace]
    first = by[0].upper() if sentence[begin].isupper() and begin == 0 else by[0]
    return f"{sentence[:begin]}{first}{by[1:]}{sentence[end:]}"


def returned(form: str) -> str:
    """The tool's words, as the chat has them."""
    return f'conjugate returned "{form}".'


# A learner's sentence; subject, helper and time; the form; what the tool returned; the answer. Where the
# sentence has the form's words, no answer is asked for, and none is shown.
SHOWN: tuple[tuple[str, str, str, str, str], ...] = (
    ("She have a red car.", "other none unsaid", "have present third", "has",
     '{"error":"agreement","replace":"have","by":"has"}'),
    ("We danced all night.", "we none unsaid", "dance past first", "danced", ""),
    ("I have wrote the report.", "I have unsaid", "write present perfect first", "have written",
     '{"error":"wrong form","replace":"wrote","by":"written"}'),
    ("Tom opens the window.", "", "", "", ""),
    ("Two days ago he eats a whole cake.", "other none past", "eat past third", "ate",
     '{"error":"wrong tense","replace":"eats","by":"ate"}'),
    ("She plays the piano every day.", "other none usual", "play present third", "plays", ""),
    ("You seed the doctor on Monday.", "you none past", "see past second", "saw",
     '{"error":"wrong form","replace":"seed","by":"saw"}'),
    ("He had brought his dog.", "other had unsaid", "bring past perfect third", "had brought", ""),
    ("Next week my aunt took the test.", "other none future", "take future third", "will take",
     '{"error":"wrong tense","replace":"took","by":"will take"}'),
    ("You will read it soon.", "you will future", "read future second", "will read", ""),
)  # fmt: skip


def opening() -> list[Message]:
    """The chat before the learner's sentence: the same for every one, so that a server keeps it."""
    chat = [_said("system", PROMPT)]
    for sentence, seen, form, words, told in SHOWN:
        chat.append(_said("user", sentence))
        chat.append(_said("assistant", call_text(seen, form)))
        if told:
            chat.append(_said("user", returned(words)))
            chat.append(_said("assistant", told))
    return chat


def call_text(seen: str, form: str) -> str:
    """A call as the model would write it; without a form, that it makes none."""
    said: dict[str, Any] = {"tool": None}
    if form:
        subject, helper, time = seen.split()
        verb, _, rest = form.partition(" ")
        tense, _, person = rest.rpartition(" ")
        said = {"tool": "conjugate", "subject": subject, "helper": helper, "time": time}
        said["arguments"] = {"verb": verb, "tense": tense, "person": person}
    return json.dumps(said, separators=(",", ":"))


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}
