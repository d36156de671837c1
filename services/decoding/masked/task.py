"""A task: a name, what its answers may be, and the page of prompt that says what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from schemas.errors import UnknownTask
from schemas.writable import writable
from services.decoding.masked.output import OutputType
from services.decoding.ports import Message

T = TypeVar("T")
# A part of an address, and a label of metrics.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """`prompt` is the system's message; `examples` are pairs of what a user says and the answer's text, shown
    as turns before the user's own. `about` is one line for lists.

    Raises:
        ValueError: the name can't stand in an address, or the mask refuses an example.
    """

    name: str
    about: str
    output: OutputType[T]
    prompt: str
    examples: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r}: a name is up to 64 small letters, digits, - and _")
        for request, text in self.examples:
            if not self.output.mask.accepts(text):
                raise ValueError(f"{self.name}: the mask refuses the example for {request!r}: {text}")

    def messages(self, text: str) -> list[Message]:
        """Return the chat that asks about `text`. All but the last message are the same for every text."""
        chat = [{"role": "system", "content": self.prompt}]
        for request, reply in self.examples:
            chat += [{"role": "user", "content": request}, {"role": "assistant", "content": reply}]
        # A control mark in the text is taken apart: a customer's words must not end their own message.
        return [*chat, {"role": "user", "content": writable(text)}]


def shown(value: object) -> Any:
    """An answer's value as JSON has it."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


class Tasks(dict[str, Task[Any]]):
    """Tasks by name; a name that is none of theirs raises UnknownTask."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        super().__init__()
        for task in tasks:
            if task.name in self:
                raise ValueError(f"Two tasks have the name {task.name!r}")
            self[task.name] = task

    def __missing__(self, name: str) -> Task[Any]:
        raise UnknownTask(name, sorted(self))
