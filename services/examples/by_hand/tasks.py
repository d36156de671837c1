"""Forty small tasks with their gold answers, and how an answer to one is judged."""

from __future__ import annotations

import json
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
    keys: tuple[str, ...] = ()
    """Of the JSON object, in the machine's order; none for plain text."""

    def mask(self, tokens: Tokens) -> ByteMask:
        """A mask for one answer; all of a kind share what they worked out."""
        return ByteMask(self.machine, tokens, self.seen)

    def messages(self, said: str) -> list[tuple[str, str]]:
        """Instruction, one worked example, and what was said, as (role, text)."""
        user, answer = self.shown
        return [("system", self.system), ("user", user), ("assistant", answer), ("user", said)]

    def valid(self, answer: str) -> bool:
        """Is the whole answer of this form? Spaces in JSON and the order of its keys don't count: they are
        the machine's own way to spell it, and no prompt is measured by that."""
        text = self._spelled(answer.strip()).encode()
        state = walk(self.machine, self.machine.start, text)
        return state is not None and self.machine.accepts(state)

    def found(self, answer: str) -> str:
        """The first piece of `answer` that is valid, or nothing: what a kind reader still finds in it."""
        for begin in range(len(answer)):
            if self.keys and answer[begin] != "{":
                continue
            for end in range(begin + 1, len(answer) + 1):
                if self.valid(answer[begin:end]):
                    return self._spelled(answer[begin:end].strip())
        return ""

    def _spelled(self, text: str) -> str:
        """JSON as the machine spells it; anything else as it is."""
        if not self.keys:
            return text
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if isinstance(value, dict) and value.keys() == set(self.keys):
            value = {key: value[key] for key in self.keys}
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
            automaton(entry["pattern"]) if "pattern" in entry else JsonMachine(read_schema(entry["schema"])),
            entry["system"],
            tuple(entry["shown"]),
            {},
            tuple(entry.get("schema", {}).get("properties", ())),
        )
        for name, entry in document["kinds"].items()
    }
    return kinds, [Task(**task) for task in document["tasks"]]
