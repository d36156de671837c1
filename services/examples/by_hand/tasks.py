"""Forty small tasks with their gold answers, and how an answer to one is judged."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.examples.by_hand.automaton import automaton
from services.examples.by_hand.json_machine import JsonMachine
from services.examples.by_hand.json_schema import read_schema
from services.examples.by_hand.masks import ByteMachine, ByteMask, walk
from services.examples.by_hand.steps import Allowed
from services.examples.by_hand.tokens import Tokens

FILE = Path(__file__).with_name("tasks.json")


@dataclass(frozen=True)
class Kind:
    """One form of answer: the machine that reads it, and the prompt that asks for it."""

    machine: ByteMachine[Any]
    system: str
    shown: tuple[str, str]
    seen: dict[Hashable, Allowed]

    def mask(self, tokens: Tokens) -> ByteMask:
        """A mask for one answer; all of a kind share what they worked out."""
        return ByteMask(self.machine, tokens, self.seen)

    def messages(self, said: str) -> list[tuple[str, str]]:
        """Instruction, one worked example, and what was said, as (role, text)."""
        user, answer = self.shown
        return [("system", self.system), ("user", user), ("assistant", answer), ("user", said)]

    def valid(self, answer: str) -> bool:
        """Is the whole answer of this form? Spaces round it don't count."""
        state = walk(self.machine, self.machine.start, answer.strip().encode())
        return state is not None and self.machine.accepts(state)

    def holds(self, answer: str) -> str:
        """The longest piece of `answer` from the first possible place that is of this form, or nothing: what
        a kind reader would still find in it. JSON may have spaces."""
        for text in (answer, _compact(answer)):
            for begin in range(len(text)):
                for end in range(len(text), begin, -1):
                    if self.valid(text[begin:end]):
                        return text[begin:end].strip()
        return ""


@dataclass(frozen=True)
class Task:
    kind: str
    said: str
    gold: str


def read_tasks() -> tuple[dict[str, Kind], list[Task]]:
    """Kinds by name, and the tasks in their order."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    kinds = {
        name: Kind(
            automaton(entry["pattern"]) if "pattern" in entry else JsonMachine(*read_schema(entry["schema"])),
            entry["system"],
            tuple(entry["shown"]),
            {},
        )
        for name, entry in document["kinds"].items()
    }
    return kinds, [Task(**task) for task in document["tasks"]]


def _compact(text: str) -> str:
    """The first JSON object in `text` written without spaces between its parts, or nothing."""
    found = re.search(r"\{.*?\}", text, re.DOTALL)
    try:
        return json.dumps(json.loads(found[0]), ensure_ascii=False, separators=(",", ":")) if found else ""
    except ValueError:
        return ""
