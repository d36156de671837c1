"""All examples; their tasks are for `SAYCART_MASKED_TASKS=services.examples.registered:TASKS`."""

from __future__ import annotations

from services.decoding.tasks import Tasks
from services.examples.fields import EXAMPLE as FIELDS
from services.examples.triage import EXAMPLE as TRIAGE

EXAMPLES = (TRIAGE, FIELDS)
TASKS = Tasks(example.task for example in EXAMPLES)
