"""The task: four fields out of a sentence or two."""

from __future__ import annotations

from pathlib import Path

from services.examples.example import Example, Row
from services.examples.fields.schema import Contact
from services.masked.output import output_type
from services.masked.task import Task, shown

HERE = Path(__file__).parent
FIELDS = tuple(Contact.model_fields)

CONTACT = Task(
    name="fields",
    about="phone number (E.164), country code, date and UUID out of what somebody writes",
    output=output_type(Contact),
    prompt=(HERE / "prompt.md").read_text(encoding="utf-8"),
    examples=(
        (
            "Hi, I'm in Portugal since 12 June 2018. Call +351 912 345 678.",
            '{"phone":"+351912345678","country":"PT","since":"2018-06-12","reference":null}',
        ),
        (
            "Case 5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c11. My number here in Vienna: 0660 1234567",
            '{"phone":"+436601234567","country":"AT","since":null,'
            '"reference":"5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c11"}',
        ),
    ),
)


def judge(contact: Contact, row: Row) -> dict[str, bool]:
    """Each field by itself; `right` where all four are."""
    found = shown(contact)
    marks = {name: found[name] == row.gold[name] for name in FIELDS}
    return {**marks, "right": all(marks.values())}


EXAMPLE = Example("fields", (CONTACT,), HERE / "gold.jsonl", judge)
