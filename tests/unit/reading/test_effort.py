"""Hostile menus and transcripts end by counted steps, and honest ones come nowhere near the budget."""

from __future__ import annotations

import cProfile
import itertools
import json
import pstats
import random
from collections.abc import Iterator
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.errors import InvalidMenu, TooMuchToRead
from schemas.menu import MAX_OPTIONS, Menu
from services.hearing.second_hearing import hear
from services.reading import effort
from services.reading.effort import MENU_STEPS, ORDER_STEPS, budget, charge
from services.reading.names import lexicons
from services.reading.names.lexicon import Lexicon
from services.reading.order import read_order
from tests.carts import MENUS
from tests.stand_ins import CAFE, ScriptedTranscriber, recorded, speech

CHARS = 2_000
SYLLABLES = "bra cho del fen gor hip jun kel lom mip nar oxo pil quo ras sut".split()
PAIRS = [
    " ".join(words) for n in (1, 2, 3, 4) for words in itertools.product(("ab", "cd", "ef", "gh"), repeat=n)
]


def menu_of(items: list[dict[str, Any]], **more: Any) -> Menu:
    return Menu.parse({"id": "m", "name": "m", "currency": "USD", "items": items, **more})


def things(names: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"sku": f"x{i}", "name": name, "price": 1, **more} for i, name in enumerate(names)]


def told(words: Iterator[str]) -> str:
    """Words up to what an order of text may have."""
    text = ""
    for word in words:
        if len(text) + len(word) + 1 > CHARS:
            return text
        text += f"{word} "
    raise AssertionError("the words came to an end")


def drawn(*words: str) -> Iterator[str]:
    dice = random.Random(1)
    return iter(lambda: dice.choice(words), None)


def groups_of(names: list[str], number: int = 1) -> list[dict[str, Any]]:
    options = [{"id": f"o{i}", "name": name} for i, name in enumerate(names)]
    return [
        {"id": f"g{g}", "name": f"group {g}", "choose": "many", "options": options} for g in range(number)
    ]


TEAS = menu_of(things([" ".join(["tea"] * n) for n in range(1, 21)]))
_DICE = random.Random(2)
CROWD = list(dict.fromkeys(" ".join(_DICE.choices(SYLLABLES, k=_DICE.randint(1, 5))) for _ in range(1200)))
# Each with words that are all of its menu: names that repeat, aliases that overlap, long lists of options.
HOSTILE: dict[str, tuple[Menu, str]] = {
    "tea": (TEAS, told(itertools.repeat("tea"))),
    "aliases that overlap": (
        menu_of([{"sku": "x", "name": "pie", "price": 1, "aliases": PAIRS}]),
        told(drawn("ab", "cd", "ef", "gh")),
    ),
    "items that overlap": (menu_of(things(PAIRS)), told(drawn("ab", "cd", "ef", "gh"))),
    "options that overlap": (
        menu_of(things(["pie"], option_groups=["g0"]), option_groups=groups_of(PAIRS)),
        told(drawn("ab", "cd", "ef", "gh", "pie")),
    ),
    "the same options in twenty groups": (
        menu_of(
            things(["pie"], option_groups=[f"g{g}" for g in range(20)]),
            option_groups=groups_of(PAIRS[:84], 20),
        ),
        told(drawn("ab", "cd", "ef", "gh", "pie")),
    ),
    "one letter each": (menu_of(things(list("bcdfghjkl"))), told(drawn(*"bcdfghjkl"))),
    "a long list of options": (
        menu_of(things(SYLLABLES, option_groups=["g0"]), option_groups=groups_of(CROWD)),
        told(drawn(*SYLLABLES)),
    ),
    "many items of few words": (menu_of(things(CROWD)), told(drawn(*SYLLABLES))),
    "names of forty words": (
        menu_of(things([" ".join(random.Random(n).choices("bcdfgh", k=40)) for n in range(300)])),
        told(drawn(*"bcdfgh")),
    ),
    "an ordinary menu's words": (
        MENUS["harbor-coffee"],
        told(drawn(*(w for item in MENUS["harbor-coffee"].items for w in item.name.split()))),
    ),
}  # fmt: skip


def counted(text: str, menu: Menu, most: int = ORDER_STEPS) -> int:
    """Steps of one reading, the menu's own left out; over `most` where it was given up."""
    seen: list[effort.Budget] = []

    class Noted(effort.Budget):
        def __init__(self, _most: int, what: str) -> None:
            super().__init__(most, what)
            seen.append(self)

    lexicons.lexicon(menu)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effort, "Budget", Noted)
        try:
            read_order(text, menu, 1)
        except TooMuchToRead:
            assert seen[0].taken > most
    return seen[0].taken


def calls(text: str, menu: Menu) -> int:
    """Python functions that one reading calls, to where it is given up: the same on every machine."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        read_order(text, menu, 1)
    except TooMuchToRead:
        pass
    finally:
        profile.disable()
    return sum(row[1] for row in pstats.Stats(profile).stats.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", HOSTILE)
def test_a_hostile_reading_ends_and_its_loops_are_charged(shape: str) -> None:
    menu, text = HOSTILE[shape]
    # One last charge may be for many steps; it is refused before they are taken.
    assert calls(text, menu) < 6 * min(counted(text, menu), ORDER_STEPS) + 300_000


@pytest.mark.parametrize("shape", ["tea", "the same options in twenty groups", "a long list of options"])
def test_what_multiplies_is_given_up_at_the_same_step(shape: str) -> None:
    menu, text = HOSTILE[shape]
    assert ORDER_STEPS < counted(text, menu) == counted(text, menu)


def test_the_next_order_of_the_same_menu_is_read() -> None:
    with pytest.raises(TooMuchToRead):
        read_order(HOSTILE["tea"][1], TEAS, 1)
    assert [line.anchor for line in read_order("a tea please", TEAS, 1).lines] == ["tea"]


def test_honest_orders_take_a_twentieth_of_the_budget_at_most() -> None:
    """A sample of what is told in tests/told, the longest of each menu; of all of them the largest takes
    21,000 steps."""
    longest: dict[str, list[str]] = {}
    for file in sorted((REPOSITORY / "tests" / "told").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            longest.setdefault(row["menu"], []).append(row["utterance"])
    for name, texts in longest.items():
        for text in sorted(texts, key=len)[-4:]:
            assert counted(text, MENUS[name]) * 20 < ORDER_STEPS, (name, text)
        breath = " and ".join(sorted(texts, key=len)[-12:])[:CHARS]
        assert counted(breath, MENUS[name]) * 2 < ORDER_STEPS, name


def test_names_of_ordinary_menus_take_a_twentieth_of_theirs() -> None:
    for menu in MENUS.values():
        with budget(MENU_STEPS, "this menu") as taken:
            Lexicon(menu)
        assert 0 < taken.taken * 20 < MENU_STEPS


def test_a_menus_names_are_paid_by_no_order() -> None:
    lexicons._LEXICONS.clear()
    first = counted("a latte", CAFE)
    assert first == counted("a latte", CAFE)


def test_a_stored_menu_whose_names_multiply_sends_its_orders_to_a_human() -> None:
    """Its import would be refused (`tests/integration/api/test_round_trip.py`)."""
    four = itertools.islice(itertools.product(SYLLABLES[:10], repeat=4), 10_000)
    many = [f"{a}{b} {c}{d} sandwich" for a, b, c, d in four]
    menu = Menu.model_validate({"id": "s", "name": "s", "currency": "USD", "items": things(many)})
    with pytest.raises(TooMuchToRead):
        read_order("a sandwich", menu, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicons, "Lexicon", None)
        with pytest.raises(TooMuchToRead):  # known from the first time, and not built again
            read_order("a sandwich", menu, 1)


def test_a_menu_of_too_much_of_something_is_refused_with_what_it_has() -> None:
    names = [f"option {n}" for n in range(MAX_OPTIONS + 1)]
    with pytest.raises(InvalidMenu) as refused:
        menu_of(things(["pie"], option_groups=["g0"]), option_groups=groups_of(names))
    (problem,) = refused.value.problems
    assert problem[0] == "/option_groups"
    assert str(MAX_OPTIONS) in problem[1]


def test_a_thousand_wrong_things_need_no_thousand_sentences() -> None:
    with pytest.raises(InvalidMenu) as refused:
        menu_of([{"sku": "", "name": ""}] * 1000)
    assert len(refused.value.problems) == 100
    with pytest.raises(InvalidMenu) as refused:
        menu_of([{"sku": "a", "name": "a", "price": 1}] * 1000)
    assert len(refused.value.problems) == 100


def test_budgets_are_counted_apart() -> None:
    with budget(10, "outer") as outer:
        charge(4)
        with budget(10, "inner") as inner:
            charge(10)
        charge(6)
        with pytest.raises(TooMuchToRead, match="outer"):
            charge()
    assert (outer.taken, inner.taken) == (11, 10)
    charge(10**9)  # outside of any budget steps are free


def test_a_hearing_of_too_much_keeps_its_words() -> None:
    ears = ScriptedTranscriber([speech(HOSTILE["tea"][1])])
    heard = hear(recorded(REPOSITORY / "none.wav"), "en", TEAS, 1, ears, floor=0.72)
    assert heard.evidence is None
    assert heard.unread is not None
    assert heard.transcript.text == HOSTILE["tea"][1]
    assert ears.hinted == []


def test_a_second_hearing_of_too_much_is_no_better() -> None:
    ears = ScriptedTranscriber([speech("a teb glorp")], again=speech(HOSTILE["tea"][1]))
    heard = hear(recorded(REPOSITORY / "none.wav"), "en", TEAS, 1, ears, floor=0.72)
    assert len(ears.hinted) == 1
    assert heard.unread is None
    assert heard.transcript.text == "a teb glorp"
