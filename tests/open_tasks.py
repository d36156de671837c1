"""A task that no mask can hold: to import this module raises."""

from __future__ import annotations

from pydantic import BaseModel

from services.clients.masked.saycart_masked import OutputType
from services.decoding.tasks import Task, Tasks


class Letter(BaseModel):
    """Its text may go on for ever."""

    text: str


TASKS = Tasks((Task("letter", "A letter", OutputType.of(Letter), "Write a letter."),))
