"""A task without a mask: importing this module raises."""

from __future__ import annotations

from pydantic import BaseModel

from services.clients.masked.saycart_masked import OutputType
from services.decoding.tasks import Task, Tasks


class Letter(BaseModel):
    """A letter of unbounded length."""

    text: str


TASKS = Tasks((Task("letter", "A letter", OutputType.of(Letter), "Write a letter."),))
