"""One gold row asked of a model: under the mask, or by the same messages without one.

Without a mask the reading is forgiving, as that of a careful client would be: fences and words around the
JSON are dropped, and numbers in quotes are numbers. What its model still refuses counts as a failure of form
there; under the mask that is one of meaning, and a failure of form can only come of a server's limits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from schemas.errors import AnswerRefused, DecodeInvalid, DecodeTruncated
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import CHAT, Completions, said, told
from services.engines.ports import Message
from services.examples.example import Example, Row, chat
from services.masked.call import answer
from services.masked.task import Task, shown

# Of an answer without a mask: beyond it nobody would wait.
MOST_TOKENS = 600
NO_FORM, CUT_OFF, NO_MEANING = "not of the form", "cut off", "meaning refused"
_FENCED = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


@dataclass(slots=True)
class Asked:
    """What came of one row. `failure` is empty, `not of the form`, `cut off` or `meaning refused`; `why` says
    more. Marks of a failed row are all false."""

    id: str
    text: str
    failure: str = ""
    why: str = ""
    value: Any = None
    marks: dict[str, bool] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    probability: dict[str, float] | None = None

    def document(self) -> dict[str, Any]:
        """As a row of a file has it."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


class Method(Protocol):
    """Asks a task about one row."""

    @property
    def name(self) -> str:
        """That of its file."""
        ...

    def ask(self, example: Example[Any], task: Task[Any], row: Row) -> Asked:
        """Never raises for an answer, however bad it is; raises EngineUnavailable where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Masked:
    """Under the task's mask; `score` keeps each field's probability without it."""

    completions: Completions
    score: bool = False
    name: str = "masked"

    def ask(self, example: Example[Any], task: Task[Any], row: Row) -> Asked:
        """See `Method`."""
        try:
            found = answer(task.output, chat(task, row), engine=self.completions, score=self.score)
        except DecodeTruncated as error:
            return Asked(row.id, "", CUT_OFF, error.detail)
        except DecodeInvalid as error:
            return Asked(row.id, error.quoted, NO_FORM, error.detail)
        except AnswerRefused as error:
            return Asked(row.id, error.quoted, NO_MEANING, error.detail)
        done = found.completed
        return Asked(
            id=row.id,
            text=done.text,
            value=shown(found.value),
            marks=example.judge(found.value, row),
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            seconds=done.seconds,
            probability=dict(found.probability) if found.probability else None,
        )


@dataclass(frozen=True, slots=True)
class Prompted:
    """By the prompt alone, and read as well as can be."""

    calls: Calls
    model: str
    name: str = "prompt"

    def ask(self, example: Example[Any], task: Task[Any], row: Row) -> Asked:
        """See `Method`."""
        started = time.perf_counter()
        document = self.calls.post(CHAT, self._body(chat(task, row)))
        text, reason = said(document)
        asked = Asked(row.id, text, seconds=time.perf_counter() - started)
        used = told(document)
        asked.prompt_tokens, asked.completion_tokens = used["prompt_tokens"], used["completion_tokens"]
        if reason != "stop":
            asked.failure, asked.why = CUT_OFF, f"finish_reason {reason!r}"
            return asked
        try:
            value = task.output.read(plain(text, is_json=task.output.schema is not None))
        except AnswerRefused as error:
            asked.failure, asked.why = NO_FORM, error.detail
            return asked
        asked.value, asked.marks = shown(value), example.judge(value, row)
        return asked

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }


def plain(text: str, *, is_json: bool) -> str:
    """The answer in a text: what stands in its first fence, or from its first brace to its last."""
    if (fenced := _FENCED.search(text)) is not None:
        text = fenced[1]
    begin, end = text.find("{"), text.rfind("}")
    return text[begin : end + 1] if is_json and 0 <= begin < end else text.strip()
