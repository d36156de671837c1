"""Caches bounded by bytes, and what is made once for all things that are alike."""

from __future__ import annotations

import gc
from dataclasses import dataclass

import pytest

from infra.caches import ByteCache, IdentityCache
from schemas.menu import Menu
from schemas.menu_fingerprint import fingerprint
from tests.stand_ins import CAFE


@dataclass(eq=False)
class Thing:
    name: str


def test_what_was_used_last_stays_within_its_bytes() -> None:
    kept: ByteCache[str, str] = ByteCache(10)
    for name in "abc":
        kept.put(name, name.upper(), 4)
    assert kept.get("a") is None
    assert kept.get("b") == "B"  # and is now the last used
    kept.put("d", "D", 4)
    assert (kept.get("c"), kept.get("b"), kept.get("d")) == (None, "B", "D")
    assert (kept.bytes, len(kept)) == (8, 2)


def test_the_newest_stays_however_large_and_a_new_value_replaces_the_old_one() -> None:
    kept: ByteCache[str, int] = ByteCache(10)
    kept.put("small", 1, 5)
    kept.put("large", 2, 500)
    assert (kept.get("small"), kept.get("large"), kept.bytes) == (None, 2, 500)
    kept.put("large", 3, 1)
    assert (kept.get("large"), kept.bytes) == (3, 1)


def test_a_thing_is_asked_once_in_its_life_and_forgotten_with_it() -> None:
    asked: list[str] = []

    def tell(thing: Thing) -> str:
        asked.append(thing.name)
        return thing.name

    once = IdentityCache(tell)
    thing = Thing("a")
    assert [once.of(thing), once.of(thing)] == ["a", "a"]
    assert asked == ["a"]
    del thing
    gc.collect()
    assert not once._values


@pytest.mark.parametrize(
    "update",
    [
        {"items": CAFE.items[::-1]},
        {"items": CAFE.items[1:]},
        {"sizes": CAFE.sizes[::-1]},
        {"language": "de"},
        {"items": (CAFE.items[0].model_copy(update={"name": "another"}), *CAFE.items[1:])},
        {"items": (CAFE.items[0].model_copy(update={"aliases": ("another",)}), *CAFE.items[1:])},
        {"items": (CAFE.items[0].model_copy(update={"prices": {"S": 1}, "price": None}), *CAFE.items[1:])},
        {"items": (CAFE.items[0].model_copy(update={"option_groups": ()}), *CAFE.items[1:])},
    ],
)
def test_whatever_words_or_choices_change_changes_the_fingerprint(update: dict[str, object]) -> None:
    assert fingerprint(CAFE.model_copy(update=update)) != fingerprint(CAFE)


def test_what_is_not_said_does_not_either() -> None:
    document = CAFE.model_dump(mode="json", exclude_none=True) | {"time_zone": "Europe/Madrid", "ref": "m"}
    document["option_groups"][0] |= {"max": 1, "defaults": ["oat"], "ref": "g"}
    document["items"][0] |= {"description": "warm", "hours": [{"start": "07:00", "end": "11:00"}]}
    assert fingerprint(Menu.parse(document)) == fingerprint(CAFE)
    document["items"][0]["number"] = 7
    assert fingerprint(Menu.parse(document)) != fingerprint(CAFE)


def test_prices_sold_out_marks_and_the_menus_own_name_do_not() -> None:
    document = CAFE.model_dump(mode="json")
    for item in document["items"]:
        item["available"] = not item["available"]
        item["prices"] = item["prices"] and {size: price + 5 for size, price in item["prices"].items()}
    for group in document["option_groups"]:
        for option in group["options"]:
            option |= {"price": option["price"] + 5, "available": not option["available"]}
    other = Menu.model_validate(document | {"id": "x", "name": "X", "currency": "EUR"})
    assert fingerprint(other) == fingerprint(CAFE)
