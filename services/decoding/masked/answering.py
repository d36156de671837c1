"""Registered tasks over an engine: what the API and the command line answer with. Nothing is stored, and no
text is logged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import structlog

from schemas.masked import TIMEOUT_S, MaskedAnswer, MaskedBy, MaskedRequest, MaskedTask
from services.decoding.masked.call import MaskedEngine, answer
from services.decoding.masked.task import Task, Tasks, shown
from services.decoding.ports import Sampling

log = structlog.get_logger()


class Answering:
    """Args:
    tasks: by name.
    engine: what answers, made when first asked for.
    """

    def __init__(self, tasks: Tasks, engine: Callable[[], MaskedEngine]) -> None:
        self._tasks, self._engine = tasks, engine

    def described(self) -> list[MaskedTask]:
        """Every task, by name."""
        return [_described(task) for _, task in sorted(self._tasks.items())]

    def one(self, name: str) -> MaskedTask:
        """One task; raises UnknownTask."""
        return _described(self._tasks[name])

    def ask(self, name: str, asked: MaskedRequest, called_off: threading.Event | None = None) -> MaskedAnswer:
        """A whole answer about `asked.text`; setting `called_off` ends it, on the server too.

        Raises:
            UnknownTask: the name is not registered.
            as `services.decoding.masked.call.answer`.
        """
        task = self._tasks[name]
        answered = answer(
            task.output,
            task.messages(asked.text),
            engine=self._engine(),
            sampling=Sampling(asked.temperature, asked.seed),
            score=asked.score,
            called_off=called_off,
            timeout_s=TIMEOUT_S,
        )
        done = answered.completed
        log.info(
            "masked.answered",
            task=name,
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            seconds=round(done.seconds, 3),
        )
        return MaskedAnswer(
            task=name,
            version=task.output.version,
            answer=shown(answered.value),
            probability=answered.probability,
            engine=MaskedBy(
                name=done.engine,
                prompt_tokens=done.prompt_tokens,
                cached_tokens=done.cached_tokens,
                completion_tokens=done.completion_tokens,
                seconds=round(done.seconds, 3),
            ),
        )


def _described(task: Task[Any]) -> MaskedTask:
    output = task.output
    return MaskedTask(
        name=task.name,
        about=task.about,
        version=output.version,
        form="grammar" if output.schema is None else "json",
        json_schema=output.schema,
        longest_bytes=output.mask.longest,
    )
