"""Tasks of the masked call: a name, what its answers may be, and the page of prompt that says what they mean.

A deployment answers the tasks that one setting names: `module:attribute`, a `Tasks`. Importing them compiles
their grammars, so that a schema which no mask can hold shows at the start, and never at a call. Nothing of a
call is stored, and no text is logged.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog
from pydantic import BaseModel

from infra.observability import measures
from schemas.errors import InputError, UnknownTask
from schemas.masked import TIMEOUT_S, MaskedAnswer, MaskedBy, MaskedRequest, MaskedTask
from schemas.writable import writable
from services.clients.masked.saycart_masked import MaskedEngine, OutputType, UnmaskableModel, masked
from services.decoding.completion import our_errors
from services.decoding.ports import Message

log = structlog.get_logger()

T = TypeVar("T")
SETTING = "SAYCART_MASKED_TASKS"
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

    def described(self) -> MaskedTask:
        """Return what the API shows of it."""
        return MaskedTask(
            name=self.name,
            about=self.about,
            version=self.output.version,
            form="grammar" if self.output.schema is None else "json",
            json_schema=self.output.schema,
            longest_bytes=self.output.mask.longest,
        )


class Tasks(dict[str, Task[Any]]):
    """Tasks by name; an unknown name raises UnknownTask."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        super().__init__()
        for task in tasks:
            if task.name in self:
                raise ValueError(f"Two tasks have the name {task.name!r}")
            self[task.name] = task

    def __missing__(self, name: str) -> Task[Any]:
        hint = f"Registered tasks: {', '.join(sorted(self)) or 'none'}."
        raise UnknownTask(f"No task named {name[:80]!r}", hint=hint)


def registered(named: str) -> Tasks:
    """Return the tasks of a comma list of places, in its order.

    Raises:
        InputError: a place can't be imported, holds no tasks or one that can't be masked, or two tasks have
            one name. It names setting and place.
    """
    places = [place.strip() for place in named.split(",") if place.strip()]
    try:
        return Tasks(task for place in places for task in _at(place).values())
    except ValueError as error:
        raise InputError(f"{SETTING}: {error}", hint="Rename one of them, or name one place less.") from None


def _at(place: str) -> Tasks:
    module, _, attribute = place.partition(":")
    try:
        tasks = getattr(importlib.import_module(module), attribute)
    except UnmaskableModel as error:
        hint = "Fix every listed place: docs/masked.md has what a mask can hold."
        raise InputError(f"{SETTING}: {place}: {error.detail}", hint=hint) from error
    except Exception as error:  # whatever a module does when it is imported
        raise InputError(
            f"{SETTING}: {place} can't be loaded: {type(error).__name__}: {error!s:.300}",
            hint="Name a module:attribute, such as `our.tasks:TASKS`, of a module on PYTHONPATH.",
        ) from error
    if not isinstance(tasks, Tasks):
        raise InputError(
            f"{SETTING}: {place} holds no tasks, but {type(tasks).__name__}",
            hint="It has to be a `Tasks`; see docs/masked.md.",
        )
    return tasks


@dataclass(frozen=True)
class MaskedTasks:
    """Registered tasks, and what makes the engine that answers them."""

    tasks: Tasks
    engine: Callable[[], MaskedEngine]

    def ask(self, name: str, asked: MaskedRequest, called_off: threading.Event | None = None) -> MaskedAnswer:
        """Return a whole answer about `asked.text`; setting `called_off` ends it, on the server too.

        Raises:
            UnknownTask: the name is not registered.
            AnswerRefused: well-formed, but the task's own rules refuse it.
            as `services.decoding.completion.Completions.complete`.
        """
        task, engine = self.tasks[name], self.engine()
        with measures.engine_took("masked"), our_errors():
            found = masked(
                task.output,
                task.messages(asked.text),
                engine=engine,
                temperature=asked.temperature,
                seed=asked.seed,
                score=asked.score,
                called_off=called_off,
                timeout_s=TIMEOUT_S,
            )
        by = MaskedBy(
            name=found.completed.engine,
            prompt_tokens=found.completed.prompt_tokens,
            cached_tokens=found.completed.cached_tokens,
            completion_tokens=found.completed.completion_tokens,
            seconds=round(found.completed.seconds, 3),
        )
        log.info("masked.answered", task=name, **by.model_dump(exclude={"name"}))
        value = found.value
        return MaskedAnswer(
            task=name,
            version=task.output.version,
            answer=value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value,
            probability=found.probability,
            engine=by,
        )
