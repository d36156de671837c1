"""The cart: the one source of the mask, the JSON Schema, the prompt's field notes and validation.

`CartDraft` is what a model may say. Field order is decoding order: `kind` before `heard`, `heard` (the
customer's own words) before any decision that rests on it. A field with a default may be left out by the
model, and then means the default; so nothing has to be invented to fill a slot.

Two marks tie the shape to an order. `x-values` on a field names where its values come from: the menu or
the transcript. `x-each` on a model says that it stands once for each such entry, so that its fields agree
(a latte has a latte's sizes). `services/decoding/wire_mask.py` turns all of this into an llguidance grammar.

Six more say how the compact spelling of a draft is written (`services/decoding/wire_schema.py`), in which the
menu's names stand for ids: `x-aligned` marks a field that is found afterwards and not written, `x-named-by`
one that the name of another field tells, `x-implied` the value of a field that is left out, and `x-key` on a
model the key of its first field, `x-key-from` on a model the field whose value is that key instead, and
`x-where` a field that only options of some groups have (those with `halves`).

`schemas/priced_cart.py` has the cart that the API shows.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypedDict  # `typing`'s is not pydantic's before Python 3.12

from schemas.writable import printed

# Bounds of the mask, and so of `max_tokens`. A longer order is asked about.
MAX_LINES = 12
MAX_OPTIONS = 24  # a sub with all on it; an order's mask opens what its item offers and was said
MAX_HEARD_CHARS = 100
MAX_QUANTITY = 999
MAX_COUNT = 12
MAX_NOTES = 6


def _from(values: str) -> JsonDict:
    return {"x-values": values}


class Amount(StrEnum):
    NONE = "none"
    LIGHT = "light"
    NORMAL = "normal"
    EXTRA = "extra"


class Portion(StrEnum):
    """Which part of an item an option is for: all of it, or the half that was named first or second."""

    WHOLE = "whole"
    LEFT = "left"
    RIGHT = "right"


class _Draft(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Heard = Annotated[
    str,
    *printed(MAX_HEARD_CHARS),
    Field(
        description="the customer's own words for this line, copied from the transcript",
        json_schema_extra=_from("transcript"),
    ),
]
Quantity = Annotated[
    int,
    Field(
        strict=True,
        ge=1,
        le=MAX_QUANTITY,
        description="how many",
        json_schema_extra=_from("quantities") | {"x-implied": 1},
    ),
]


class OptionDraft(_Draft):
    """One change to an item: which option, how much of it, how often."""

    model_config = ConfigDict(json_schema_extra={"x-each": "options", "x-key": "option"})

    group: str = Field(description="option group", json_schema_extra=_from("groups") | {"x-named-by": "id"})
    id: str = Field(description="the option", json_schema_extra=_from("options"))
    amount: Amount = Field(
        default=Amount.NORMAL,
        description="only when the customer said how much: none (no, without), light or extra",
        json_schema_extra=_from("amounts"),
    )
    count: int = Field(
        default=1,
        strict=True,
        ge=1,
        le=MAX_COUNT,
        description="only when the customer gave a number for this option",
        json_schema_extra=_from("counts"),
    )
    # Left out of documents at its default, as `notes` are: so an older release can still read them.
    portion: Portion = Field(
        default=Portion.WHOLE,
        description="only when the customer wants it on one half: left (the half named first) or right",
        json_schema_extra=_from("portions") | {"x-where": "halves"},
        exclude_if=lambda portion: portion is Portion.WHOLE,
    )


_OTHER_HALF = {Portion.LEFT: Portion.RIGHT, Portion.RIGHT: Portion.LEFT}


def _joined(options: tuple[OptionDraft, ...]) -> tuple[OptionDraft, ...]:
    """Return the options; one that is the same on both halves becomes one of the whole item."""
    joined: list[OptionDraft] = []
    for option in options:
        other = _OTHER_HALF.get(option.portion)
        if other is None or option.model_copy(update={"portion": other}) not in options:
            joined.append(option)
        elif option.portion is Portion.LEFT:
            joined.append(option.model_copy(update={"portion": Portion.WHOLE}))
    return tuple(joined)


class ItemLine(_Draft):
    """Something on the menu."""

    model_config = ConfigDict(json_schema_extra={"x-each": "items"})

    kind: Literal["item"]
    heard: Annotated[Heard, Field(json_schema_extra=_from("transcript") | {"x-aligned": True})]
    sku: str = Field(description="the menu item meant", json_schema_extra=_from("items"))
    quantity: Quantity
    size: str | None = Field(
        default=None,
        description="only when the customer said a size",
        json_schema_extra=_from("sizes"),
    )
    options: Annotated[tuple[OptionDraft, ...], AfterValidator(_joined)] = Field(
        default=(), max_length=MAX_OPTIONS, description="only what the customer asked for"
    )


class NotOnMenuLine(_Draft):
    """Something that the customer wants and the menu does not have."""

    kind: Literal["not_on_menu"]
    heard: Heard
    quantity: Quantity


LineDraft = Annotated[ItemLine | NotOnMenuLine, Field(discriminator="kind")]


class OptionLine(TypedDict, total=False):
    """An option of a `Line`."""

    group: str
    id: str
    amount: str
    count: int
    portion: str


class Line(TypedDict, total=False):
    """A line as a model or a writer of orders wrote it: `LineDraft` before its words are aligned."""

    kind: str
    heard: str
    sku: str
    quantity: int
    size: str | None
    options: list[OptionLine]


class NoteKind(StrEnum):
    """What a note is about. `preparation` is how to make, cut, cook, pack or serve it."""

    ALLERGY = "allergy"
    DIET = "diet"
    PREPARATION = "preparation"
    OTHER = "other"


DIETARY = (NoteKind.ALLERGY, NoteKind.DIET)
"""Kinds of note that a person confirms, and that are about no single line."""


class NoteDraft(_Draft):
    """Something that the kitchen must know beyond the lines."""

    model_config = ConfigDict(json_schema_extra={"x-key-from": "kind"})

    kind: NoteKind = Field(description="what it is about", json_schema_extra=_from("note_kinds"))
    heard: Annotated[Heard, Field(description="the customer's own words, copied from the transcript")]


class CartDraft(_Draft):
    """What the model may say about one order. It has no price, discount or customer field."""

    lines: tuple[LineDraft, ...] = Field(max_length=MAX_LINES)
    notes: tuple[NoteDraft, ...] = Field(
        default=(),
        max_length=MAX_NOTES,
        description="only what no line can say: allergies, diets, how to make or pack it",
        exclude_if=lambda notes: not notes,
    )


SCHEMA: dict[str, Any] = CartDraft.model_json_schema()
SCHEMA_VERSION = hashlib.sha256(json.dumps(SCHEMA, sort_keys=True).encode()).hexdigest()[:12]
"""Changes exactly when the shape of a cart does, and with it every wire format."""
PUBLISHED = {
    **SCHEMA,
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "version": SCHEMA_VERSION,
}
