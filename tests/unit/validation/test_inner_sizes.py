"""A size that was only said as part of an option's name was not said."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.menu import Menu
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.inner_sizes import without_inner_sizes

MENU = Menu.parse(
    {
        "id": "roastery", "name": "Roastery", "currency": "USD",
        "sizes": [{"id": "M", "name": "medium"}, {"id": "L", "name": "large"}],
        "option_groups": [{"id": "roast", "name": "roast", "choose": "many", "options": [
            {"id": "medium", "name": "medium roast"}, {"id": "cheese", "name": "cheese"},
            {"id": "mozzarella", "name": "mozzarella cheese"}]}],
        "items": [{"sku": "mocha", "name": "mocha", "prices": {"M": 1, "L": 2}, "option_groups": ["roast"]}],
    }
)  # fmt: skip


def mocha(size: str | None = None, *options: str) -> dict[str, Any]:
    return {"sku": "mocha", "size": size, "options": [{"group": "roast", "id": one} for one in options]}


@pytest.mark.parametrize(
    ("said", "written", "kept"),
    [
        ("a medium roast mocha", mocha("M", "medium"), mocha(None, "medium")),
        # Options are left alone.
        ("a mocha with mozzarella cheese", mocha(None, "cheese"), mocha(None, "cheese")),
        # Said by itself, too.
        ("a medium mocha medium roast", mocha("M", "medium"), mocha("M", "medium")),
        ("a medium mocha with cheese", mocha("M", "cheese"), mocha("M", "cheese")),
        # Not said at all: that is the model's business.
        ("a big mocha", mocha("L"), mocha("L")),
    ],
)
def test_only_a_size_that_stands_in_an_option_alone_goes(
    said: str, written: dict[str, Any], kept: dict[str, Any]
) -> None:
    names = names_of(MENU)
    assert without_inner_sizes([written], said, names, retrieve(said, names)) == [kept]
