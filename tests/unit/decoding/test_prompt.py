"""What the reader that writes cart JSON is shown, with one transcript and with two."""

from __future__ import annotations

import pytest

from services.decoding.prompt import messages, names_line, turn
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Retrieval, retrieve
from services.training.forms import FORMS
from services.training.orders import Shop
from tests.unit.decoding.test_wire import MENU, NAMES

SHOP = Shop(MENU, NAMES, [])


def found(transcript: str) -> Retrieval:
    return retrieve(transcript, MenuNames(MENU))


@pytest.mark.parametrize(
    ("second", "shown"),
    [
        ("", False),
        ("Two large lattes.", False),
        ("2 large lattes", False),
        ("two large latte", True),
        ("to large lattes", True),
    ],
)
def test_a_second_transcript_is_shown_where_its_words_differ(second: str, shown: bool) -> None:
    other = f"\nOr: {second}" if shown else ""
    assert turn("two large lattes", "Named: large", second) == f"two large lattes{other}\nNamed: large"


def test_names_of_a_second_transcript_are_guesses_behind_the_firsts() -> None:
    first, second = found("a large lathe with foam"), found("a large latte with foam and oat milk")
    assert names_line(first, NAMES).startswith("Named: large; foam")
    told = names_line(first, NAMES, second)
    assert told.startswith("Named: large; foam. Perhaps: Latte; oat milk")
    assert names_line(second, NAMES, second) == names_line(second, NAMES)


@pytest.mark.parametrize("second", ["", "a large lathe"])
def test_what_is_asked_in_training_is_what_is_asked_when_it_serves(second: str) -> None:
    form = FORMS["json"]
    said = "a large latte"
    asked = form.question(said, SHOP, second)
    line = names_line(found(said), NAMES, found(second) if second else None)
    assert form.messages("Menu:", asked) == messages("Menu:", said, line, second)
    assert ("\nOr: " in asked) == bool(second)
