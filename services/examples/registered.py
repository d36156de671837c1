"""The examples that are served, asked and measured by name; a new one is a line in each list."""

from __future__ import annotations

from typing import Any

from services.examples.actions.task import EXAMPLE as ACTIONS
from services.examples.example import Example
from services.masked.task import Tasks

EXAMPLES: tuple[Example[Any], ...] = (ACTIONS,)
TASKS = Tasks(example.tasks[0] for example in EXAMPLES)
