"""The chart of an order: what competes, what stands after each pass, and what made each span from what."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.names.finding.sounding_alike import said_alike
from services.reading.names.lexicons import lexicon
from services.reading.names.resolving import resolve
from services.reading.names.senses import choose_senses
from services.reading.passes import PASSES, Pass, steps, understood
from services.reading.whole.revisions import strike_out
from services.training.orders import shops
from tests.stand_ins import CAFE

COMBOS = Menu.parse(
    {
        "id": "combos",
        "name": "Combos",
        "currency": "USD",
        "option_groups": [{"id": "drink", "name": "drink", "options": [{"id": "cola", "name": "cola"}]}],
        "items": [
            {"sku": "combo", "name": "combo", "price": 900, "option_groups": ["drink"]},
            {"sku": "cola", "name": "cola", "price": 200},
        ],
    }
)


def charts(text: str) -> dict[Pass, Chart]:
    return dict(steps(text, CAFE))


def words(spans: Iterable[Span], kind: str) -> set[str]:
    return {span.text for span in spans if span.kind == kind}


def test_what_overlaps_competes_until_one_is_chosen() -> None:
    after = charts("a coffee with mocha syrup")
    assert {"coffee", "mocha"} <= words(after[said_alike].spans, "item")
    assert after[said_alike].standing == ()
    assert words(after[resolve].standing, "item") == {"coffee"}
    assert words(after[resolve].standing, "option") == {"mocha syrup"}


def test_words_of_several_senses_keep_them_until_the_last_choice() -> None:
    after = dict(steps("a combo with a cola", COMBOS))
    assert "cola" in words(after[strike_out].standing, "item") & words(after[strike_out].standing, "option")
    assert "cola" not in words(after[choose_senses].standing, "item")
    assert after[choose_senses].unsettled == after[strike_out].standing


def test_what_corrects_stands_in_the_place_of_what_it_corrects() -> None:
    after = charts("a small latte, no, large")[strike_out]
    (size,) = [span for span in after.standing if span.kind == "size"]
    assert (size.ids, size.text) == (("L",), "large")
    assert after.words.text[size.start : size.end] == "small"
    assert [after.words[i].folded for i in size.core] == ["large"]
    assert [span.text for span in size.on] == ["small"]
    assert [token.folded for token in after.left] == ["a", "small", "latte"]
    assert words(after.named, "size") == {"small", "large"}


def test_a_correction_that_no_rule_reads_leaves_all_words() -> None:
    chart = understood("a latte and a mocha, actually not that one, the first with oat", CAFE)
    assert chart.corrected
    assert chart.left == chart.words


def test_a_number_counts_or_is_a_size() -> None:
    assert [number.value for number in understood("two lattes", CAFE).numbers] == [2]
    chart = understood("ten nuggets", CAFE)
    assert chart.numbers == ()
    (pack,) = [span for span in chart.standing if span.rule == "so_many_pieces"]
    assert (pack.ids, pack.core) == (("P10",), (0,))


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.__name__)
def test_a_pass_tells_what_it_is_for_and_changes_no_chart(each: Pass) -> None:
    assert each.__doc__
    before = Chart.of(CAFE, lexicon(CAFE).heard("two small lattes, no, a maca and ten nuggets"))
    for earlier in PASSES[: PASSES.index(each)]:
        before = earlier(before, lexicon(CAFE))
    held = repr(before)
    once, twice = each(before, lexicon(CAFE)), each(before, lexicon(CAFE))
    assert once == twice
    assert repr(before) == held


def test_every_span_rests_on_spans_that_another_pass_made() -> None:
    """On told orders of many menus; and what stands was made by some pass, and stands in order."""
    read = 0
    for shop in shops("tune"):
        for row in shop.rows[::40]:
            made: list[Span] = []
            for _, chart in steps(row.said, shop.menu):
                known = {(span.kind, span.core) for span in (*made, *chart.spans, *chart.standing)}
                made += [*chart.spans, *chart.standing]
                assert {(on.kind, on.core) for span in chart.standing for on in span.on} <= known, row.said
            places = [(span.start, span.end) for span in chart.standing]
            assert places == sorted(places), row.said
            read += 1
    assert read > 20
