"""The staff's form for a cart: what it shows is what it reads, within the schema and the menu."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import MAX_NOTES, Amount, CartDraft, ItemLine, OptionDraft
from schemas.menu import Menu
from services.web.pages import Form
from services.web.staff.review_controls import Control, LineControls, line_controls, note_kind
from services.web.staff.review_form import FilledForm, NoteFields, filled_from, read
from tests import pizzeria
from tests.pizzeria import PIZZERIA, topped
from tests.stand_ins import CAFE, RIGHT


def filled(forms: list[LineControls], **changes: str) -> Form:
    """The form as a browser sends it; `changes` are typed in, with `_` for `-` in names."""
    fields: dict[str, list[str]] = {}
    for line in forms:
        fields[f"line-{line.index}-heard"] = [line.words]
        for control in (*line.controls, *(c for row in line.options for c in row)):
            fields[control.name] = [control.value]
    return Form(fields | {name.replace("_", "-"): [value] for name, value in changes.items()})


def shown(draft: CartDraft, menu: Menu = CAFE) -> list[LineControls]:
    return [line_controls(index, line, menu) for index, line in enumerate(filled_from(draft).lines)]


def with_notes(draft: CartDraft, **changes: str) -> Form:
    """The form of a draft on the pizzeria's menu, its notes too."""
    noted: dict[str, str] = {}
    for index, fields in enumerate(filled_from(draft).notes):
        kind = note_kind(index, fields)
        noted |= {kind.name: kind.value, f"note-{index}-heard": fields.heard}
    return filled(shown(draft, PIZZERIA), **noted, **changes)


def control(line: LineControls, label: str) -> Control:
    return next(c for c in (*line.controls, *(c for row in line.options for c in row)) if c.label == label)


def values(asked: Control) -> list[str]:
    return [value for choices in asked.groups.values() for value in choices]


def test_what_is_shown_is_read_back() -> None:
    options = [{"group": "milk", "id": "oat", "amount": "none"}, {"group": "shots", "id": "shot", "count": 3}]
    wish = {"lines": [{"kind": "not_on_menu", "heard": "a unicorn", "quantity": 2}]}
    drafts = [RIGHT, CartDraft(lines=()), draft(quantity=7, options=options), CartDraft.model_validate(wish)]
    for made in drafts:
        assert read(filled(shown(made)), CAFE).draft == made


def draft(**more: Any) -> CartDraft:
    line = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": "M"}
    return CartDraft.model_validate({"lines": [line | more]})


def test_every_field_of_the_schema_is_asked_about_or_kept() -> None:
    line = shown(draft(options=[{"group": "milk", "id": "oat"}]))[0]
    asked = {c.name.rpartition("-")[2] for c in (*line.controls, *line.options[0])}
    assert asked | {"kind", "heard", "options", "group", "portion"} == {
        *ItemLine.model_fields,
        *OptionDraft.model_fields,
    }


def test_choices_and_bounds_are_those_of_schema_and_menu() -> None:
    line = shown(draft(options=[{"group": "milk", "id": "oat"}]))[0]
    assert values(control(line, "Amount")) == [amount.value for amount in Amount]
    assert values(control(line, "Size")) == ["S", "M", "L"]
    assert values(control(line, "Item")) == [item.sku for item in CAFE.items]
    offered = {(g.id, o.id) for g in CAFE.option_groups for o in g.options
               if g.id in ("milk", "syrup", "shots", "extras")}  # fmt: skip
    assert {tuple(v.split("/")) for v in values(control(line, "Option"))} == offered
    count, quantity = control(line, "Count"), control(line, "Quantity")
    assert (count.maximum, quantity.maximum) == (12, 999)


def test_halves_and_notes_that_are_shown_are_read_back() -> None:
    line = topped(("topping", "ham", "left"), ("sauce", "tomato", "right"), ("crust", "thick-crust", "left"))
    made = pizzeria.draft(line, notes=(("allergy", "no nuts"), ("preparation", "well done")))
    assert read(with_notes(made), PIZZERIA).draft == made


NOTED = pizzeria.draft(topped(), notes=(("allergy", "no nuts"), ("preparation", "well done")))


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"note_1_heard": "crispy"}, [("allergy", "no nuts"), ("preparation", "crispy")]),
        ({"note_1_kind": "other"}, [("allergy", "no nuts"), ("other", "well done")]),
        ({"note_0_heard": " "}, [("preparation", "well done")]),
        ({"remove_note": "0"}, [("preparation", "well done")]),
        # A note that was just added has no words yet.
        ({"add": "note"}, [("allergy", "no nuts"), ("preparation", "well done")]),
    ],
)
def test_a_reviewer_edits_and_removes_notes(changes: dict[str, str], notes: list[tuple[str, str]]) -> None:
    done = read(with_notes(NOTED, **changes), PIZZERIA)
    assert done.draft is not None
    assert [(note.kind, note.heard) for note in done.draft.notes] == notes
    assert len(done.draft.lines) == 1


def test_a_note_comes_with_words_to_write_and_no_more_than_the_schema_has() -> None:
    added = read(with_notes(NOTED, add="note"), PIZZERIA)
    assert added.notes[-1] == NoteFields("preparation", "")
    full = pizzeria.draft(topped(), notes=(("other", "to go"),) * MAX_NOTES)
    assert len(read(with_notes(full, add="note"), PIZZERIA).notes) == MAX_NOTES


def test_an_unsized_item_has_no_size_and_an_unknown_one_asks() -> None:
    muffin = shown(CartDraft.model_validate(
        {"lines": [{"kind": "item", "heard": "m", "sku": "muffin", "quantity": 1}]}))[0]  # fmt: skip
    assert [c.label for c in muffin.controls] == ["Item", "Quantity"]
    assert muffin.more is None
    wish = shown(CartDraft.model_validate(
        {"lines": [{"kind": "not_on_menu", "heard": "x", "quantity": 1}]}))[0]  # fmt: skip
    assert values(control(wish, "Item"))[0] == ""


def test_another_item_lets_go_of_what_it_does_not_have() -> None:
    form = shown(draft(size="M", options=[{"group": "milk", "id": "oat"}, {"group": "shots", "id": "shot"}]))
    other = read(filled(form, line_0_sku="iced-latte"), CAFE).draft
    assert other is not None
    assert other.lines[0].model_dump(mode="json", include={"sku", "size", "options"}) == {
        "sku": "iced-latte",
        "size": None,
        "options": [{"group": "milk", "id": "oat", "amount": "normal", "count": 1}],
    }


def line_of(done: FilledForm) -> ItemLine:
    assert done.draft is not None
    line = done.draft.lines[0]
    assert isinstance(line, ItemLine)
    return line


@pytest.mark.parametrize("typed", ["", "0", "1000", "two", "1.5", "-1", "٣"])
def test_an_impossible_number_is_named(typed: str) -> None:
    done = read(filled(shown(draft()), line_0_quantity=typed), CAFE)
    assert done.draft is None
    assert done.problems[0][0].startswith("quantity: ")
    assert done.lines[0].quantity == typed


def test_what_the_menu_does_not_offer_is_not_taken() -> None:
    form = filled(
        shown(draft(options=[{"group": "milk", "id": "oat"}])), line_0_more="sauce/ranch", line_0_size="P10"
    )
    assert line_of(read(form, CAFE)).model_dump()["size"] is None
    assert [o.id for o in line_of(read(form, CAFE)).options] == ["oat"]
