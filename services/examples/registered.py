"""The examples that are served, asked and measured by name; a new one is a line in each list."""

from __future__ import annotations

from typing import Any

from services.examples.actions.task import EXAMPLE as ACTIONS
from services.examples.conjugation.task import EXAMPLE as CONJUGATION
from services.examples.example import Example
from services.examples.fields.task import EXAMPLE as FIELDS
from services.examples.query.task import EXAMPLE as QUERY
from services.examples.triage.task import EXAMPLE as TRIAGE
from services.masked.task import Tasks

EXAMPLES: tuple[Example[Any], ...] = (TRIAGE, CONJUGATION, ACTIONS, QUERY, FIELDS)
TASKS = Tasks(example.tasks[0] for example in EXAMPLES)
