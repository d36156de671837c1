"""What came back, read as a cart: why it is none, and what the menu does not have of it.

Form and truth are kept apart. A parse failure is a text that is no cart, whatever it names; a catalog error
is a cart that names what the menu lacks, or joins what does not go together.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from schemas.cart import CartDraft
from schemas.compare import canonical, canonical_draft
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.checks.tidy import drop_echoes
from services.engines.masks.labels import Labels
from tests.bench.chat import Answer

FAILURES = ("refused", "truncated", "no JSON", "wrong type", "schema violation")
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
# Of pydantic's error types: a value of the wrong kind, against fields too many, too few or out of bounds.
_TYPES = ("_type", "_parsing", "int_from_float")


@dataclass(frozen=True, slots=True)
class Reading:
    """`failure` is one of FAILURES with its `problem` in words, or None and `lines` are a draft's, by id; a
    name that the menu lacks stands there behind a question mark, so that it equals no gold."""

    failure: str | None
    problem: str
    lines: list[dict[str, Any]]
    catalog: tuple[str, ...]
    words_not_said: int


def read(answer: Answer, labels: Labels, said: str) -> Reading:
    """Read one answer as the old pipeline would: one code fence around the JSON is forgiven."""
    if answer.finish != "stop":
        kind = "truncated" if answer.finish == "length" else "refused"
        return _failed(kind, answer.text if kind == "refused" else "the answer was cut off")
    fenced = FENCE.match(answer.text)
    try:
        document = json.loads(fenced.group(1) if fenced else answer.text)
    except (ValueError, RecursionError) as error:
        return _failed("no JSON", f"this is not JSON: {error}")
    try:
        draft = CartDraft.model_validate(document)
    except ValidationError as error:
        kinds = {found["type"] for found in error.errors()}
        typed = any(kind.endswith(_TYPES) for kind in kinds)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _failed("wrong type" if typed else "schema violation", f"{where}: {first['msg']}")
    lines, catalog = _by_id(draft, labels)
    return Reading(
        None,
        "",
        lines,
        tuple(catalog),
        sum(line.heard.casefold() not in said.casefold() for line in draft.lines),
    )


def exact(reading: Reading, gold: list[dict[str, Any]]) -> bool:
    """Whether the cart is gold's, as the evaluation compares carts."""
    return reading.failure is None and canonical(reading.lines) == canonical(gold)


def exact_when_tidied(reading: Reading, gold: list[dict[str, Any]], evidence: Evidence) -> bool:
    """The same after the pipeline's tidying, which drops lines that only echo another one's words. Any
    technique's cart can be tidied, so it is shown beside the bare decode and not in its place."""
    if reading.failure is not None:
        return False
    draft, _ = drop_echoes(CartDraft.model_validate({"lines": reading.lines}), evidence)
    return canonical_draft(draft) == canonical(gold)


def _failed(kind: str, problem: str) -> Reading:
    return Reading(kind, problem, [], (), 0)


def _by_id(draft: CartDraft, labels: Labels) -> tuple[list[dict[str, Any]], list[str]]:
    """The draft's lines with ids for names, and each catalog error by kind."""
    menu: Menu = labels.menu
    items = {item.name: item for item in menu.items}
    sizes = {name: size for size, name in labels.sizes.items()}
    groups = {name: group for group, name in labels.groups.items()}
    options = {(group, name): option for (group, option), name in labels.options.items()}
    catalog: list[str] = []
    lines = draft.model_dump(mode="json")["lines"]
    for line in lines:
        if line["kind"] != "item":
            continue
        item = items.get(line["sku"])
        if item is None:
            catalog.append("unknown item")
        line["sku"] = item.sku if item else f"?{line['sku']}"
        if line["size"] is not None:
            size = sizes.get(line["size"], f"?{line['size']}")
            if size.startswith("?"):
                catalog.append("unknown size")
            elif item and size not in item.size_ids:
                catalog.append("size that the item lacks")
            line["size"] = size
        for option in line["options"]:
            group = groups.get(option["group"], f"?{option['group']}")
            chosen = options.get((group, option["id"]), f"?{option['id']}")
            if chosen.startswith("?"):
                catalog.append("unknown option")
            elif item and group not in item.option_groups:
                catalog.append("option that the item lacks")
            option["group"], option["id"] = group, chosen
    return lines, catalog
