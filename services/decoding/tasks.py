"""Tasks of the masked call: a name, an output type and a prompt.

A setting lists a deployment's tasks, as `module:attribute` of a `Tasks`. Importing them compiles their
grammars, so an unsupported schema fails at startup, not at a call. No call is stored, and no text is logged.
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
from services.clients.masked.saycart_masked import MaskedEngine, Message, OutputType, masked
from services.decoding.completion import translated_errors

log = structlog.get_logger()

T = TypeVar("T")
SETTING = "SAYCART_MASKED_TASKS"
# Used in URLs and as a metrics label.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """A task. `prompt` is the system message; `examples` are pairs of a user's text and its answer, sent as
    earlier messages; `about` is a line for lists.

    Raises:
        ValueError: the name is not valid in a URL, or the mask rejects an example.
    """

    name: str
    about: str
    output: OutputType[T]
    prompt: str
    examples: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r}: a name has up to 64 lowercase letters, digits, - and _")
        for request, text in self.examples:
            if not self.output.mask.accepts(text):
                raise ValueError(f"{self.name}: the mask rejects the example for {request!r}: {text}")

    def messages(self, text: str) -> list[Message]:
        """Return the chat about `text`; all messages but the last are the same for every text."""
        chat = [{"role": "system", "content": self.prompt}]
        for request, reply in self.examples:
            chat += [{"role": "user", "content": request}, {"role": "assistant", "content": reply}]
        # `writable` breaks up control tokens: a text must not end its own message.
        return [*chat, {"role": "user", "content": writable(text)}]

    def described(self) -> MaskedTask:
        """Return the task as the API shows it."""
        return MaskedTask(
            name=self.name,
            about=self.about,
            version=self.output.mask.version,
            form="grammar" if self.output.schema is None else "json",
            json_schema=self.output.schema,
            longest_bytes=self.output.mask.longest,
        )


class Tasks(dict[str, Task[Any]]):
    """Tasks by name; raises UnknownTask for any other, and InputError for two of one name."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        super().__init__()
        for task in tasks:
            if task.name in self:
                problem = f"{SETTING}: Two tasks have the name {task.name!r}"
                raise InputError(problem, hint="Rename one, or list fewer places.")
            self[task.name] = task

    def __missing__(self, name: str) -> Task[Any]:
        hint = f"Registered tasks: {', '.join(sorted(self)) or 'none'}."
        raise UnknownTask(f"No task named {name[:80]!r}", hint=hint)


def registered(named: str) -> Tasks:
    """Return the tasks of a comma-separated list of places.

    Raises:
        InputError: a place can't be imported, has no tasks or an unsupported schema, or two tasks have the
            same name.
    """
    places = [place.strip() for place in named.split(",") if place.strip()]
    return Tasks(task for place in places for task in _at(place).values())


def _at(place: str) -> Tasks:
    module, _, attribute = place.partition(":")
    try:
        tasks = getattr(importlib.import_module(module), attribute)
        if not isinstance(tasks, Tasks):
            raise TypeError(f"it is {type(tasks).__name__}, not Tasks")
    except Exception as error:  # a module may do anything when imported
        raise InputError(
            f"{SETTING}: {place} can't be loaded: {type(error).__name__}: {error!s:.1000}",
            hint="Give a module:attribute on PYTHONPATH, such as `our.tasks:TASKS`, as docs/masked.md shows.",
        ) from error
    return tasks


@dataclass(frozen=True)
class MaskedTasks:
    """Registered tasks, and a factory of the engine that answers them."""

    tasks: Tasks
    engine: Callable[[], MaskedEngine]

    def ask(
        self, name: str, request: MaskedRequest, called_off: threading.Event | None = None
    ) -> MaskedAnswer:
        """Return the answer about `request.text`; setting `called_off` stops it, on the server as well.

        Raises:
            UnknownTask: there is no such task.
            AnswerRefused: the answer breaks the task's own rules.
            and as `Completions.complete`.
        """
        task, engine = self.tasks[name], self.engine()
        with measures.time_engine("masked"), translated_errors():
            answer = masked(
                task.output,
                task.messages(request.text),
                engine=engine,
                temperature=request.temperature,
                seed=request.seed,
                score=request.score,
                called_off=called_off,
                timeout_s=TIMEOUT_S,
            )
        by = MaskedBy(
            name=answer.completed.engine,
            prompt_tokens=answer.completed.prompt_tokens,
            cached_tokens=answer.completed.cached_tokens,
            completion_tokens=answer.completed.completion_tokens,
            seconds=round(answer.completed.seconds, 3),
        )
        log.info("masked.answered", task=name, **by.model_dump(exclude={"name"}))
        value = answer.value
        return MaskedAnswer(
            task=name,
            version=task.output.mask.version,
            answer=value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value,
            probability=answer.probability,
            engine=by,
        )
