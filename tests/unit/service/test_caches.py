"""Caches bounded by bytes, and by the life of what they are asked about."""

from __future__ import annotations

import gc
from dataclasses import dataclass

from infra.caches import ByteCache, IdentityCache


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
