"""The tasks that a deployment answers, tasks by the names in one setting: `module:attribute`, a `Tasks`.

Importing them makes their grammars, so that a schema which no mask can hold shows here, and never at a call.
"""

from __future__ import annotations

import importlib

from schemas.errors import InputError, SaycartError
from services.decoding.masked.task import Tasks

SETTING = "SAYCART_MASKED_TASKS"


def registered(named: str) -> Tasks:
    """The tasks of a comma list of places, in its order.

    Raises:
        InputError: a place that can't be read or imported, holds no tasks or one that can't be masked, or two
            tasks of one name; it tells setting and place.
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
    except SaycartError as error:
        raise InputError(f"{SETTING}: {place}: {error.detail}", hint=error.hint) from error
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
