"""A task: a name, what its answers may be, and the page of prompt that says what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from schemas.errors import UnknownTask
from schemas.writable import writable
from services.decoding.masked.output import OutputType
from services.decoding.ports import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """`prompt` is the system's message; `examples` are pairs of what a user says and the answer's text, shown
    as turns before the user's own. `about` is one line for lists."""

    name: str
    about: str
    output: OutputType[T]
    prompt: str
    examples: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for said, text in self.examples:
            if not self.output.mask.accepts(text):
                raise ValueError(f"{self.name}: the mask refuses the example for {said!r}: {text}")

    def messages(self, text: str) -> list[Message]:
        """Return the chat that asks about `text`. All but the last message are the same for every text."""
        chat = [{"role": "system", "content": self.prompt}]
        for said, told in self.examples:
            chat += [{"role": "user", "content": said}, {"role": "assistant", "content": told}]
        # A control mark in the text is taken apart: a customer's words must not end their own message.
        return [*chat, {"role": "user", "content": writable(text)}]


def shown(value: object) -> Any:
    """An answer's value as JSON has it."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


class Tasks(Mapping[str, Task[Any]]):
    """Tasks by name."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        self._tasks: dict[str, Task[Any]] = {}
        for task in tasks:
            if task.name in self._tasks:
                raise ValueError(f"Two tasks have the name {task.name!r}")
            self._tasks[task.name] = task

    def __getitem__(self, name: str) -> Task[Any]:
        """Raises UnknownTask, which lists the names."""
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTask(name, sorted(self._tasks)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)
