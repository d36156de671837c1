"""An item that is said after "to drink, ..." stays, over every menu that orders were written for."""

from __future__ import annotations

import pytest

from schemas.evidence import Evidence
from schemas.menu import Menu
from services.reading.order import read_order
from tests.carts import MENUS

# By language: two wishes one after the other, and the second as a drink.
PLAIN = {"en": "a {one}, a {other}", "es": "un {one}, un {other}"}
TO_DRINK = {
    "en": ("a {one}, to drink, a {other}", "a {one} and to drink a {other}", "a {one}. To drink, a {other}"),
    "es": ("un {one}, para beber, un {other}", "un {one} y de beber un {other}"),
}


def keeps(evidence: Evidence, sku: str) -> bool:
    """Whether a line of this item can't be left out."""
    return any(line.required and sku in line.items for line in evidence.lines)


@pytest.mark.parametrize("menu", MENUS.values(), ids=lambda menu: menu.id)
def test_what_is_kept_without_to_drink_is_kept_with_it(menu: Menu) -> None:
    one, *others = sorted(menu.items, key=lambda item: len(item.option_groups))
    language = menu.language.partition("-")[0]
    lost, kept = [], 0
    for other in others:
        names = {"one": one.name.lower(), "other": other.name.lower()}
        if not keeps(read_order(PLAIN[language].format(**names), menu, 1), other.sku):
            continue  # a name in another's
        kept += 1
        said = [form.format(**names) for form in TO_DRINK[language]]
        lost += [words for words in said if not keeps(read_order(words, menu, 1), other.sku)]
    assert lost == []
    assert kept > 0.8 * len(others)
