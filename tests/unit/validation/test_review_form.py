"""The staff's form for a cart: what it shows is what it reads, within the schema and the menu."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from schemas.cart import MAX_NOTES, Amount, CartDraft, ItemLine, OptionDraft
from schemas.menu import Menu
from services.web.pages import TEMPLATES, Form
from services.web.staff.review_form import FilledForm, NoteFields, filled_from, items, line_view, read
from services.web.staff.review_view import CartView
from tests import pizzeria
from tests.pizzeria import PIZZERIA, topped
from tests.stand_ins import CAFE, RIGHT


class Page(HTMLParser):
    """The form on the page: its values, the choices of selects, and the largest numbers."""

    def __init__(self, draft: CartDraft, menu: Menu = CAFE) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.choices: dict[str, list[str]] = {}
        self.most: dict[str, str] = {}
        self._select = ""
        form = filled_from(draft)
        view = CartView(
            lines=tuple(line_view(line, menu, None, ()) for line in form.lines),
            notes=form.notes,
            items=items(menu),
            priced=None,
            currency="USD",
            problems=(),
            removed=(),
            added=(),
            changed=False,
        )
        self.feed(TEMPLATES.get_template("review/cart.html").render(cart=view, review_id="rev_1"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "input":
            self.values[name], self.most[name] = given["value"], given.get("max", "")
        elif tag == "select":
            self._select, self.choices[name] = name, []
        elif tag == "option":
            if "selected" in given or not self.choices[self._select]:
                self.values[self._select] = given["value"]
            self.choices[self._select].append(given["value"])

    def sent(self, **changes: str) -> Form:
        """The form as a browser sends it; `changes` are typed in, with `_` for `-` in names."""
        typed = {name.replace("_", "-"): value for name, value in changes.items()}
        return Form({name: [value] for name, value in (self.values | typed).items()})


def test_what_is_shown_is_read_back() -> None:
    options = [{"group": "milk", "id": "oat", "amount": "none"}, {"group": "shots", "id": "shot", "count": 3}]
    wish = {"lines": [{"kind": "not_on_menu", "heard": "a unicorn", "quantity": 2}]}
    drafts = [RIGHT, CartDraft(lines=()), draft(quantity=7, options=options), CartDraft.model_validate(wish)]
    for made in drafts:
        assert read(Page(made).sent(), CAFE).draft == made


def draft(**more: Any) -> CartDraft:
    line = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": "M"}
    return CartDraft.model_validate({"lines": [line | more]})


def test_every_field_of_the_schema_is_asked_about_or_kept() -> None:
    page = Page(draft(options=[{"group": "milk", "id": "oat"}]))
    asked = {name.rpartition("-")[2] for name in page.values} - {"more"}
    assert asked | {"kind", "options", "group", "portion"} == {
        *ItemLine.model_fields,
        *OptionDraft.model_fields,
    }


def test_choices_and_bounds_are_those_of_schema_and_menu() -> None:
    page = Page(draft(options=[{"group": "milk", "id": "oat"}]))
    assert page.choices["line-0-option-0-amount"] == [amount.value for amount in Amount]
    assert page.choices["line-0-size"] == ["S", "M", "L"]
    assert page.choices["line-0-sku"] == [item.sku for item in CAFE.items]
    offered = {f"{g.id}/{o.id}" for g in CAFE.option_groups for o in g.options
               if g.id in ("milk", "syrup", "shots", "extras")}  # fmt: skip
    assert {*page.choices["line-0-option-0-id"]} == offered
    assert {*page.choices["line-0-more"]} == offered - {"milk/oat"} | {""}
    assert (page.most["line-0-option-0-count"], page.most["line-0-quantity"]) == ("12", "999")


def test_halves_and_notes_that_are_shown_are_read_back() -> None:
    line = topped(("topping", "ham", "left"), ("sauce", "tomato", "right"), ("crust", "thick-crust", "left"))
    made = pizzeria.draft(line, notes=(("allergy", "no nuts"), ("preparation", "well done")))
    assert read(Page(made, PIZZERIA).sent(), PIZZERIA).draft == made


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
    done = read(Page(NOTED, PIZZERIA).sent(**changes), PIZZERIA)
    assert done.draft is not None
    assert [(note.kind, note.heard) for note in done.draft.notes] == notes
    assert len(done.draft.lines) == 1


def test_a_note_comes_with_words_to_write_and_no_more_than_the_schema_has() -> None:
    added = read(Page(NOTED, PIZZERIA).sent(add="note"), PIZZERIA)
    assert added.notes[-1] == NoteFields("preparation", "")
    full = pizzeria.draft(topped(), notes=(("other", "to go"),) * MAX_NOTES)
    assert len(read(Page(full, PIZZERIA).sent(add="note"), PIZZERIA).notes) == MAX_NOTES


def test_an_unsized_item_has_no_size_and_an_unknown_one_asks() -> None:
    muffin = Page(CartDraft.model_validate(
        {"lines": [{"kind": "item", "heard": "m", "sku": "muffin", "quantity": 1}]}))  # fmt: skip
    assert [*muffin.values] == ["line-0-heard", "line-0-sku", "line-0-quantity"]
    wish = Page(CartDraft.model_validate(
        {"lines": [{"kind": "not_on_menu", "heard": "x", "quantity": 1}]}))  # fmt: skip
    assert (wish.choices["line-0-sku"][0], wish.values["line-0-sku"]) == ("", "")


def test_another_item_lets_go_of_what_it_does_not_have() -> None:
    page = Page(draft(size="M", options=[{"group": "milk", "id": "oat"}, {"group": "shots", "id": "shot"}]))
    other = read(page.sent(line_0_sku="iced-latte"), CAFE).draft
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
    done = read(Page(draft()).sent(line_0_quantity=typed), CAFE)
    assert done.draft is None
    assert done.problems[0][0].startswith("quantity: ")
    assert done.lines[0].quantity == typed


def test_what_the_menu_does_not_offer_is_not_taken() -> None:
    page = Page(draft(options=[{"group": "milk", "id": "oat"}]))
    form = page.sent(line_0_more="sauce/ranch", line_0_size="P10")
    assert line_of(read(form, CAFE)).model_dump()["size"] is None
    assert [o.id for o in line_of(read(form, CAFE)).options] == ["oat"]
