"""What the reading did with the words of one order: every rule's candidates, what stood of them and what they
lost to, the numbers, and clause by clause what it changes and the order then.

It runs the parts of the reading again, on the same words, and watches them; nothing of it is kept or shared,
and an order that nobody asks about pays nothing for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from schemas.explanation import (
    ExplainedChange,
    ExplainedClause,
    ExplainedSpan,
    ExplainedToken,
    Ground,
    ReadingExplained,
    Ref,
)
from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import Token
from services.reading.clauses.changes import Change
from services.reading.clauses.clause import Clause
from services.reading.clauses.tally import Wish
from services.reading.effort import ORDER_STEPS, budget
from services.reading.explained_changes import Changed
from services.reading.fates import Fate, Key, fates_of_names, fates_of_numbers
from services.reading.order import clean, unaccounted
from services.reading.passes import PASSES, steps
from services.reading.retelling import line_in_words, second
from services.reading.whole.reading import Reading, read

# The words are read, their names found again, and each candidate is held against those that stand.
_TIMES = 3


def explain_reading(transcript: str, menu: Menu) -> ReadingExplained:
    """The way from the words to the names, numbers and clauses that stand; pure, as `read_order` is.

    Raises:
        TooMuchToRead: the words over this menu are past three times `ORDER_STEPS`.
    """
    with budget(_TIMES * ORDER_STEPS, "these words over this menu, to explain them,"):
        text = clean(transcript)
        done = dict(steps(text, menu))
        chart = done[PASSES[-1]]
        odd = set(unaccounted(chart))
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
            clauses=tuple(_clauses(text, read(chart), sorted(odd), menu)),
        )


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


class _Watched:
    """What the second reading does, clause by clause."""

    def __init__(self, text: str, tokens: Sequence[Token], menu: Menu) -> None:
        self.clauses: list[ExplainedClause] = []
        self._text, self._tokens, self._menu = text, tokens, menu
        self._changed = Changed(menu)
        self._changes: list[ExplainedChange] = []

    def change(self, change: Change) -> None:
        if (explained := self._changed.explained(change)) is not None:
            self._changes.append(explained)

    def clause(self, clause: Clause, wishes: list[Wish] | None) -> None:
        changes, self._changes = tuple(self._changes), []
        self.clauses.append(
            ExplainedClause(
                start=clause.start,
                end=clause.end,
                text=self._text[self._tokens[clause.start].start : self._tokens[clause.end - 1].end],
                lead=clause.lead,
                cue=clause.cue,
                asks=clause.asks,
                tale=clause.tale,
                changes=changes,
                order=tuple(line_in_words(wish, self._menu) for wish in wishes or ()),
                followed=wishes is not None,
            )
        )


def _clauses(text: str, reading: Reading, odd: list[int], menu: Menu) -> list[ExplainedClause]:
    """What the second reading hears and does, whether its cart is asked for or not."""
    watched = _Watched(text, reading.chart.words, menu)
    second(text, reading, odd, menu, watched)
    return watched.clauses
