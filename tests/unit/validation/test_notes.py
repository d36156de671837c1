"""Notes of a cart: whose words they are, what they are about, and which of them a person confirms."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.transcript import Transcript
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.allergy import check_allergy
from services.validation.notes import with_left_out
from services.validation.price import price_cart
from tests.pizzeria import PIZZERIA, draft
from tests.stand_ins import speech


def item(sku: str, heard: str) -> dict[str, Any]:
    return {"kind": "item", "heard": heard, "sku": sku, "quantity": 1}


def noted(said: str, lines: list[dict[str, Any]], *notes: tuple[str, str]) -> list[tuple[str, int | None]]:
    """Text and line of each note of the priced cart, in its order."""
    transcript = Transcript(text=said, confidence=1.0)
    cart = price_cart(draft(*lines, notes=notes), PIZZERIA, 1, transcript, [])
    return [(note.text, note.line) for note in cart.notes]


PIZZA, COLA = item("pizza", "a pizza"), item("cola", "a cola")


@pytest.mark.parametrize(
    ("said", "lines", "notes", "found"),
    [
        ("a pizza cut in four and a cola", [PIZZA, COLA], [("preparation", "cut in four")],
         [("cut in four", 0)]),
        ("a pizza and a cola no straw", [PIZZA, COLA], [("other", "no straw")], [("no straw", 1)]),
        ("a pizza and a cola no straw", [COLA, PIZZA], [("other", "no straw")], [("no straw", 0)]),
        # Said before any line, or not said like this (a reviewer wrote it): of the whole order.
        ("well done a pizza", [PIZZA], [("preparation", "well done")], [("well done", None)]),
        ("a pizza", [PIZZA], [("preparation", "cut small")], [("cut small", None)]),
        # The second pizza is the second time that its words stand there.
        ("a pizza well done and a pizza cut in four", [PIZZA, PIZZA],
         [("preparation", "well done"), ("other", "cut in four")], [("well done", 0), ("cut in four", 1)]),
        ("a pizza to go and a cola to go", [PIZZA, COLA], [("other", "to go"), ("other", "to go")],
         [("to go", 0), ("to go", 1)]),
        # Allergies and diets come first, and are about all of it.
        ("a pizza well done we are vegan and I can't have nuts", [PIZZA],
         [("preparation", "well done"), ("diet", "we are vegan"), ("allergy", "I can't have nuts")],
         [("I can't have nuts", None), ("we are vegan", None), ("well done", 0)]),
    ],
)  # fmt: skip
def test_a_note_is_about_the_line_that_it_follows(
    said: str,
    lines: list[dict[str, Any]],
    notes: list[tuple[str, str]],
    found: list[tuple[str, int | None]],
) -> None:
    assert noted(said, lines, *notes) == found


@pytest.mark.parametrize(
    ("said", "noted", "found"),
    [
        ("a pizza Cut in half to go", (), ["Cut in half", "to go"]),
        ("a pizza well done", (("preparation", "pizza well done"),), ["pizza well done"]),
        # The menu says it, or it doesn't say how.
        ("a cola to go", (), []),
        ("a pizza to go with it", (), []),
        ("a pizza, don't cut in half, no sauce on the side", (), []),
        ("a pizza Well done", (("preparation", "well done"),), ["well done"]),
        # Each allergy that no note has; a note of one is no note of another.
        (
            "I am vegan, a pizza and a cola for me please, and my friend has a severe nut allergy",
            (("diet", "I am vegan"),),
            ["I am vegan", "friend has a severe nut allergy"],
        ),
    ],
)
def test_what_the_model_left_out_is_noted(
    said: str, noted: tuple[tuple[str, str], ...], found: list[str]
) -> None:
    pizza, cola = PIZZERIA.items
    items = (pizza, cola.model_copy(update={"name": "cola to go"}))
    menu = PIZZERIA.model_copy(update={"items": items})
    made = with_left_out(draft(PIZZA, notes=noted), menu, said, retrieve(said, names_of(menu)))
    assert [note.heard for note in made.notes] == found


def test_a_note_has_the_time_when_it_was_said() -> None:
    said = speech("a pizza well done")
    (note,) = price_cart(draft(PIZZA, notes=(("preparation", "well done"),)), PIZZERIA, 1, said, []).notes
    assert (note.start_s, note.end_s) == (said.words[2].start_s, said.words[3].end_s)


@pytest.mark.parametrize(
    ("said", "notes", "words"),
    [
        (
            "a pizza olives are my kryptonite",
            [("allergy", "olives are my kryptonite")],
            "olives are my kryptonite",
        ),
        ("a pizza for a light eater", [("diet", "for a light eater")], "for a light eater"),
        ("a pizza well done", [("preparation", "well done")], None),
        # By both: once, with the words around it.
        ("a pizza I am allergic to nuts", [("allergy", "allergic to nuts")], "a pizza I am allergic to nuts"),
    ],
)
def test_a_note_of_an_allergy_counts_like_its_words(
    said: str, notes: list[tuple[str, str]], words: str | None
) -> None:
    transcript = Transcript(text=said, confidence=1.0)
    found = check_allergy(draft(PIZZA, notes=tuple(notes)), PIZZERIA, transcript)
    assert [f.message.partition("”")[0] for f in found] == ([f"You said “{words}"] if words else [])


@pytest.mark.parametrize(
    ("said", "heard", "blocks"),
    [
        ("a pizza, I'm allergic to nuts", ["allergic to nuts"], False),
        ("a pizza, I'm allergic to nuts", [], True),
        ("a pizza, I'm allergic to nuts, my son is celiac", ["allergic to nuts"], True),
        (
            "a pizza, I'm allergic to nuts, is the pizza vegan",
            ["allergic to nuts", "is the pizza vegan"],
            True,
        ),
        ("a pizza, I'm allergic to nuts, is it safe", ["allergic to nuts"], True),
    ],
)
def test_a_shop_accepts_allergies_that_notes_have_whole(said: str, heard: list[str], blocks: bool) -> None:
    noted, transcript = draft(PIZZA, notes=tuple(("allergy", words) for words in heard)), speech(said)
    assert [one.blocks for one in check_allergy(noted, PIZZERIA, transcript, accepted=True)] == [blocks]
    assert [one.blocks for one in check_allergy(noted, PIZZERIA, transcript)] == [True]
