"""The tasks that a deployment answers, found by the names in one setting: `module:attribute`.

What is found there is a `Tasks`, or any iterable of `Task`. Importing it makes its grammars, so that a schema
which no mask can hold shows here, and never at a call.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from schemas.errors import InputError, SaycartError
from services.decoding.masked.task import Task, Tasks

SETTING = "SAYCART_MASKED_TASKS"
# A part of an address, and a label of metrics.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def registered(named: str) -> Tasks:
    """The tasks of a comma list of places, in its order.

    Raises:
        InputError: a place that can't be read or imported, holds no tasks or one that can't be masked, or two
            tasks of one name; it tells setting and place.
    """
    found = [task for place in named.split(",") if place.strip() for task in _at(place.strip())]
    try:
        return Tasks(found)
    except ValueError as error:
        raise InputError(f"{SETTING}: {error}", hint="Rename one of them, or name one place less.") from None


def _at(place: str) -> list[Task[Any]]:
    module, _, attribute = place.partition(":")
    if not module or not attribute.isidentifier():
        raise InputError(
            f"{SETTING} names {place!r}, which is no module:attribute", hint="Such as `our.tasks:TASKS`."
        )
    try:
        value = getattr(importlib.import_module(module), attribute)
    except SaycartError as error:
        raise InputError(f"{SETTING}: {place}: {error.detail}", hint=error.hint) from error
    except Exception as error:  # whatever a module does when it is imported
        raise InputError(
            f"{SETTING}: {place} can't be loaded: {type(error).__name__}: {error!s:.300}",
            hint="Is the module installed with saycart, or on PYTHONPATH?",
        ) from error
    return _tasks(place, value)


def _tasks(place: str, value: object) -> list[Task[Any]]:
    each = value.values() if isinstance(value, Mapping) else value
    found: list[Any] = list(each) if isinstance(each, Iterable) else [each]
    if not all(isinstance(one, Task) for one in found):
        raise InputError(
            f"{SETTING}: {place} holds no tasks, but {type(value).__name__}",
            hint="It has to be a `Tasks`, or any iterable of `Task`; see services/decoding/masked/task.py.",
        )
    for task in found:
        if not _NAME.fullmatch(task.name):
            raise InputError(
                f"{SETTING}: {place} has a task of the name {task.name!r}",
                hint="A name stands in addresses: up to 64 small letters, digits, - and _.",
            )
    return found
