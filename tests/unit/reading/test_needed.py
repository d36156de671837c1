"""What no order needs is found by reading only the orders that use it: that finds what the slow way does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from zlib import crc32

import pytest

from services.reading.language.language import language
from tests.needed import runs as needed
from tests.needed.parts import GUARDS, Part, parts, stays, tables, without
from tests.needed.uses import Uses, read_with, trace
from tests.readings import Order, digest

TRIED = 8
# Of each kind: in a joined set, taken from one, by its sound, an ending, a phrase, a pattern, a name.
ALSO = [
    Part("joints", "and"), Part("accompanying", "with"), Part("fillers", "please"),
    Part("contractions", "'ll"),
    Part("replacing", ("make", "that")), Part("shared"), Part("nicknames", "oj"), Part("amounts", "hold"),
    Part("plural_signs", "s"),
]  # fmt: skip


@pytest.fixture(scope="module")
def uses() -> Uses:
    written = list(needed.sentences())
    # By their names, so that a new sentence changes no other's place in the sample; and some that need one of
    # the words below, whatever the rest is.
    sure = ("colas'll", "hold the mayo", " oj", "make that")
    told = [
        order
        for order in written
        if crc32(order.name.encode()) % 41 == 0 or any(word in order.said.lower() for word in sure)
    ]
    return Uses("en", told, trace("en", told))


def read_otherwise(part: Part, orders: list[Order]) -> set[str]:
    before = {order.name: digest(order.said, order.shop) for order in orders}
    with read_with(without("en", [part])):
        return {order.name for order in orders if digest(order.said, order.shop) != before[order.name]}


def test_the_quick_way_finds_what_the_slow_way_finds(uses: Uses, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [*random.Random(7).sample(list(parts("en")), TRIED), *ALSO]
    found = {part: read_otherwise(part, uses.orders) for part in tried}
    assert sum(map(bool, found.values())) >= 3
    monkeypatch.setattr(needed, "_ASKED", [uses])
    for order in uses.orders:
        monkeypatch.setitem(needed._BEFORE, order.name, digest(order.said, order.shop))
    for part, other in found.items():
        assert other <= {order.name for order in uses.of(part)}, part
        assert (needed.needed_by(part) in other) if other else not needed.needed_by(part), part


def test_words_that_notice_change_no_reading(uses: Uses) -> None:
    told = uses.orders[:10]
    assert trace("en", told).digests == [digest(order.said, order.shop) for order in told]


# By what they are about they refuse, take back, deny, doubt, or keep apart.
MUST_GUARD = (
    "amounts amounts_after refusing refusing_all refusals taken_off "
    "negating negations denying removing replacing swapping instead_of "
    "unsure weighed likewise for_whom parted shared asked naming wanting "
    "heads dish_sorts omissible defining tastes staples made_of bundles"
).split()


@pytest.mark.parametrize("kind", ["closed", "guards"])
def test_what_stays_in_any_case_has_a_reason_and_is_not_asked_about(kind: str) -> None:
    asked = set(parts("en"))
    for name, table in tables("en").items():
        if not (kinds := table.get(kind)):
            continue
        for why in [kinds] if isinstance(kinds, str) else kinds:
            assert why in GUARDS if kind == "guards" else why
        if isinstance(kinds, str):
            assert stays(table) is None
            assert not any(part.entry == name for part in asked)
            continue
        members = stays({kind: kinds})
        assert members
        assert members <= set(getattr(language("en"), name)), name
        assert asked.isdisjoint(Part(name, member) for member in members)


def test_no_entry_that_keeps_a_wrong_cart_away_can_lose_a_word() -> None:
    """Losing one of these turns a refusal or a doubt into an acceptance, and no order of ours may tell."""
    asked = set(parts("en"))
    assert not [part for part in asked if part.entry in MUST_GUARD]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, one, other = tmp_path / "kept.jsonl", Part("tastes", "peach"), Part("tastes", "mango")
    line = {"at": needed.stamp(), "entry": one.entry, "what": one.shown, "by": "order 1"}
    old = {**line, "at": "another reading", "what": other.shown}
    file.write_text(f"{json.dumps(line)}\n{json.dumps(old)}\n" + '{"at": "cut of')
    assert needed.known(file, needed.stamp()) == {("tastes", "peach"): "order 1"}
