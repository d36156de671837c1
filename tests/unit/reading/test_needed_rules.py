"""Which rules no order needs is found by reading only the orders in which they come to something: that finds
what the slow way does, and names what is idle, and nothing else."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.reading import passes
from tests.needed import fires, runs
from tests.needed import rules as ruled
from tests.needed.rules import Body, Rule, read_without, rules
from tests.readings import Order, digest

TRIED = 12
# Of each kind: of a menu's names, a pass, what is yielded, what is changed in place, what may be none.
ALSO = [
    Rule("names/board.py", "Board._is_sized", "yes"), Rule("names/senses.py", "choose_senses"),
    Rule("order.py", "_clusters"), Rule("values/lists.py", "carry_on"),
    Rule("whole/revisions.py", "strike_out"), Rule("chart/tokens.py", "fluent"),
]  # fmt: skip
STAGED = """
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.names.lexicon import Lexicon

def idle(chart: Chart, lexicon: Lexicon) -> Chart:
    return chart.competing(_none_of(chart))

def _none_of(chart: Chart) -> list[Span]:
    return [span for span in chart.spans if not span.core]

def once(chart: Chart, lexicon: Lexicon) -> Chart:
    return chart.standing_so(span for span in chart.standing if span.kind != "size")

def again(chart: Chart, lexicon: Lexicon) -> Chart:
    return chart.standing_so(span for span in chart.standing if span.kind != "size")
"""


@pytest.fixture(scope="module")
def told() -> list[Order]:
    return list(runs.sentences())[::31]


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Rule]]:
    """Passes of which one is of no use, and two stand for each other; with the reading's own rules."""
    (tmp_path / "staged_passes.py").write_text(STAGED)
    monkeypatch.syspath_prepend(tmp_path)
    import staged_passes  # type: ignore[import-not-found]

    found = dict(ruled.rules_of("staged.py", STAGED, staged_passes))
    all_rules = {**rules(), **found}
    for module in (ruled, fires):
        monkeypatch.setattr(module, "rules", lambda: all_rules)
    more = (staged_passes.idle, staged_passes.once, staged_passes.again)
    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, *more))
    yield {rule.name: rule for rule in found}
    del sys.modules["staged_passes"]


def asking(told: list[Order], monkeypatch: pytest.MonkeyPatch) -> fires.Fires:
    """From now on it is asked what these orders need."""
    monkeypatch.setattr(runs, "_ASKED", [])
    monkeypatch.setattr(runs, "_BEFORE", {})
    traced = fires.trace(told)
    uses = fires.Fires(told, traced.fired, traced.menus)
    runs.ask_of(uses, traced.digests)
    return uses


def test_the_quick_way_finds_what_the_slow_way_finds(
    told: list[Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    uses = asking(told, monkeypatch)
    tried = [*random.Random(11).sample(list(rules()), TRIED), *ALSO]
    needed = 0
    for rule in tried:
        with read_without([rule]):
            other = {order.name for order in told if runs._otherwise(order)}
        needed += bool(other)
        assert other <= {order.name for order in uses.of(rule)}, rule
        assert (runs.needed_by(rule) in other) if other else not runs.needed_by(rule), rule
    assert needed >= 3


def test_a_rule_that_nothing_needs_is_named_and_one_that_is_needed_is_not(
    told: list[Order], staged: dict[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking(told, monkeypatch)
    assert not runs.needed_by(staged["idle"])
    assert not runs.needed_by(staged["_none_of"])
    assert runs.needed_by(Rule("names/senses.py", "choose_senses"))


def test_of_two_rules_that_stand_for_each_other_one_stays(
    told: list[Order], staged: dict[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking(told, monkeypatch)
    pair = [staged["once"], staged["again"]]
    assert not runs.needed_by(pair[0])
    assert not runs.needed_by(pair[1])
    assert len([rule for rule in runs.together([*pair, staged["idle"]]) if rule in pair]) == 1


def test_to_note_what_comes_to_something_changes_no_reading(told: list[Order]) -> None:
    code = [body.function.__code__ for body in rules().values()]
    assert fires.trace(told).digests == [digest(order.said, order.shop) for order in told]
    assert [body.function.__code__ for body in rules().values()] == code


def test_a_rule_without_which_an_order_is_read_for_ever_is_needed(
    told: list[Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    def for_ever(*_: object) -> None:
        while True:
            pass

    asking(told, monkeypatch)
    rule = Rule("names/senses.py", "choose_senses")
    body = rules()[rule]
    endless = Body(body.function, body.full, for_ever.__code__, body.noted, body.idle)
    monkeypatch.setattr(ruled, "rules", lambda: {rule: endless})
    monkeypatch.setattr(runs, "_LONGEST_S", 0.05)
    assert runs.needed_by(rule)


def test_every_pass_is_a_rule() -> None:
    assert {body.function for body in rules().values()}.issuperset(passes.PASSES)
