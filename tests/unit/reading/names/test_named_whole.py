"""An item that is named whole stays beside something odd, over every menu that orders were written for."""

from __future__ import annotations

import pytest

from schemas.evidence import Evidence
from schemas.menu import Menu
from services.reading.order import read_order
from tests.carts import MENUS, only_cart

# By language: two wishes one after the other, and the second as a drink.
PLAIN = {"en": "a {one}, a {other}", "es": "un {one}, un {other}"}
TO_DRINK = {
    "en": ("a {one}, to drink, a {other}", "a {one} and to drink a {other}", "a {one}. To drink, a {other}"),
    "es": ("un {one}, para beber, un {other}", "un {one} y de beber un {other}"),
}
BESIDE = (
    "a {one} with a side of {other}", "a {one} and {other} on the side", "a {one} and a {size} {other}",
    "a {one} and a {other} with glitter on it",
)  # fmt: skip
ENGLISH = [menu for menu in MENUS.values() if menu.language.startswith("en")]
WORD_IN_TWO = 0.98  # of names; the others read on into one beside them: "a can the works"


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


@pytest.mark.parametrize("menu", ENGLISH, ids=lambda menu: menu.id)
def test_what_is_named_beside_something_odd_stays_or_is_doubted(menu: Menu) -> None:
    one, *others = sorted(menu.items, key=lambda item: len(item.option_groups))
    asked = kept = 0
    silent = []
    for other in others:
        # A size that the menu has, and this item has not.
        size = next((size.name for size in menu.sizes if size.id not in other.size_ids), "enormous")
        names = {"one": one.name.lower(), "other": other.name.lower(), "size": size}
        if not keeps(read_order(PLAIN["en"].format(**names), menu, 1), other.sku):
            continue
        for words in (form.format(**names) for form in BESIDE):
            evidence = read_order(words, menu, 1)
            asked, kept = asked + 1, kept + keeps(evidence, other.sku)
            cart = only_cart(evidence)
            if cart is not None and other.sku not in {line["sku"] for line in cart}:
                silent.append(words)
    assert silent == []
    assert kept >= WORD_IN_TWO * asked > 0
