"""The set of hard schemas: 30 families of ten, each schema with instances that are and that are not valid.

Written here, of no public data set. What a keyword means is not ours to say: `judge` asks the `jsonschema`
package (draft 2020-12, formats asserted), and `every_case` raises where an instance is not what its family
says. An instance is spelled as compact JSON with the members in the order of the schema's `properties`, since
a mask is free to hold a model to one order.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

Schema = dict[str, Any]
SEED = 19
EACH = 10


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a family makes of a number: a schema and its instances. With no valid one, nothing can satisfy the
    schema (and a mask made of it could never come to an end)."""

    schema: Schema
    valid: list[Any]
    invalid: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Family:
    """Ten schemas that are hard for one reason. `make` is given a number from 0 to 9 and a source of chance
    that is seeded with it, so that the set is the same each time."""

    name: str
    why: str
    make: Callable[[int, random.Random], Drawn]


@dataclass(frozen=True, slots=True)
class Case:
    """One schema of the set, as it goes to a library: instances are JSON texts."""

    name: str
    family: str
    schema: Schema
    valid: list[str]
    invalid: list[str]


def spelled(instance: Any) -> str:
    return json.dumps(instance, ensure_ascii=False, separators=(",", ":"))


def judge(schema: Schema) -> Draft202012Validator:
    """The judge of instances. Raises `jsonschema.SchemaError` where the schema itself is none."""
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=FormatChecker())


def checked(family: Family, number: int) -> Case:
    """Raises:
    ValueError: an instance is not what the family says that it is.
    """
    name = f"{family.name}-{number}"
    drawn = family.make(number, random.Random(f"{SEED} {name}"))
    validator = judge(drawn.schema)
    for instances, meant in ((drawn.valid, True), (drawn.invalid, False)):
        for instance in instances:
            if validator.is_valid(instance) != meant:
                raise ValueError(f"{name}: {spelled(instance)[:200]} is {'in' if meant else ''}valid")
    return Case(
        name,
        family.name,
        drawn.schema,
        [spelled(instance) for instance in drawn.valid],
        [spelled(instance) for instance in drawn.invalid],
    )


def families() -> list[Family]:
    from tests.bench.schemas import logic, members, references, values

    return [*references.FAMILIES, *logic.FAMILIES, *values.FAMILIES, *members.FAMILIES]


def every_case() -> Iterator[Case]:
    """All 300, family by family."""
    for family in families():
        for number in range(EACH):
            yield checked(family, number)


def record(properties: Schema, *, required: list[str] | None = None, **more: Any) -> Schema:
    """A closed object with all of its members required, unless told otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
        **more,
    }
