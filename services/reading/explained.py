"""What the reading did with the words of one order: every rule's candidates, what stood of them and what they
lost to, and the numbers.

It runs the parts of the reading again, on the same words, and watches them; nothing of it is kept or shared,
and an order that nobody asks about pays nothing for it.
"""

from __future__ import annotations

from collections import defaultdict

from schemas.explanation import ExplainedSpan, ExplainedToken, Ground, ReadingExplained, Ref
from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import covered
from services.reading.effort import ORDER_STEPS, budget
from services.reading.fates import Fate, Key, fates_of_names, fates_of_numbers
from services.reading.names.lexicons import lexicon
from services.reading.order import clean
from services.reading.passes import PASSES, steps
from services.reading.values.numbers import find_numbers
from services.reading.whole.unexplained import unexplained

# The words are read, their names found again, and each candidate is held against those that stand.
_TIMES = 3


def explain_reading(transcript: str, menu: Menu) -> ReadingExplained:
    """The way from the words to the names and numbers that stand; pure, as `read_order` is.

    Raises:
        TooMuchToRead: the words over this menu are past three times `ORDER_STEPS`.
    """
    with budget(_TIMES * ORDER_STEPS, "these words over this menu, to explain them,"):
        text = clean(transcript)
        done = dict(steps(text, menu))
        chart = done[PASSES[-1]]
        odd = set(_unaccounted(chart))
        left = {token.start for token in chart.left}
        said = [*fates_of_names(done), *fates_of_numbers(chart)]
        return ReadingExplained(
            text=text,
            tokens=tuple(
                ExplainedToken(
                    text=text[token.start : token.end],
                    folded=token.folded,
                    start=token.start,
                    end=token.end,
                    unexplained=i in odd,
                    struck=token.start not in left,
                )
                for i, token in enumerate(chart.words)
            ),
            spans=tuple(_spans(chart, said)),
        )


def _unaccounted(chart: Chart) -> list[int]:
    """Positions, among all words that were said, of those that nothing accounts for."""
    words, named, menu = chart.words, list(chart.named), chart.menu
    numbers = list(find_numbers(words, covered(words, named), named, menu))
    return unexplained(words.text, words, named, numbers, lexicon(menu))


def _spans(chart: Chart, said: list[Fate]) -> list[ExplainedSpan]:
    """In the order of the words, those chosen first; what fits the same words alike as one."""
    tokens, text, called = chart.words, chart.words.text, _Called(chart.menu)
    alike: dict[tuple[object, ...], list[Fate]] = defaultdict(list)
    for one in said:
        alike[one.key[0], one.core, one.rule, one.on, one.score, one.why, one.lost_to].append(one)
    spans = []
    for group in alike.values():
        first = group[0]
        spans.append(
            ExplainedSpan(
                kind=first.key[0],
                tokens=first.core,
                text=text[tokens[first.core[0]].start : tokens[first.core[-1]].end],
                refs=tuple(called.ref(one.key) for one in group),
                score=round(first.score, 3),
                rule=first.rule,
                on=tuple(called.ground(one) for one in first.on),
                chosen=first.why is None,
                why=first.why,
                lost_to=called.ref(first.lost_to) if first.lost_to else None,
            )
        )
    return sorted(spans, key=lambda s: (s.tokens[0], not s.chosen, -len(s.tokens), -s.score, s.refs[0].id))


class _Called:
    """The menu's names by kind, group and id."""

    def __init__(self, menu: Menu) -> None:
        self._names = {("item", "", item.sku): item.name for item in menu.items}
        self._names |= {("size", "", size.id): size.name for size in menu.sizes}
        self._names |= {("option", g.id, o.id): o.name for g in menu.option_groups for o in g.options}

    def ref(self, key: Key) -> Ref:
        return Ref(id=key[2], group=key[1], name=self._names.get(key, key[2]))

    def ground(self, span: Span) -> Ground:
        refs = tuple(self.ref((span.kind, *ref)) for ref in span.refs)
        return Ground(kind=span.kind, tokens=span.core, text=span.text, refs=refs)
