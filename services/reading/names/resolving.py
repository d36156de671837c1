"""Which of the spans that overlap stand, and what those that fit the same words alike come to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from services.reading.chart.chart import Chart
from services.reading.chart.resolve import settle
from services.reading.chart.senseless import closes, counted, filled, strange
from services.reading.chart.span import GAPPED, SHORT, Span
from services.reading.effort import charge
from services.reading.names.lexicon import Lexicon


def refute(chart: Chart, lexicon: Lexicon) -> Chart:
    """Drop names that would leave words without a sense: in "a tub of veggie cream cheese" the veggie is no
    noise inside a tub of cream cheese."""
    tokens, found = chart.words, list(chart.spans)
    around = [f for f in found if f.kind == "item" and f.score == GAPPED]
    charge(len(found) * len(around) // 4)
    found = [f for f in found if not any(closes(g, f) for g in around)]
    kept = settle(found)
    if hollow := {f for f in kept if not filled(tokens, f, kept)}:
        found = [f for f in found if f not in hollow]
        kept = settle(found)
    if lost := strange(tokens, found, kept, lexicon.board.offers):
        found = [f for f in found if (f.groups, f.core) not in lost]
        kept = settle(found)
    return replace(chart, spans=tuple(found), standing=tuple(kept))


def resolve(chart: Chart, _: Lexicon) -> Chart:
    """Choose between names that overlap: the longest stands over whatever lies inside it, and what was said
    whole over what only sounds alike."""
    kept = settle(list(chart.spans))
    return chart.standing_so(f for f in kept if not counted(chart.words, f, kept))


def join_alike(chart: Chart, lexicon: Lexicon) -> Chart:
    """Make one span of all that fit the same words alike, or of those that are written just so: "pepper" is
    the black one, and no green peppers."""
    by_place: dict[tuple[str, tuple[int, ...]], list[Span]] = defaultdict(list)
    for f in chart.standing:
        by_place[f.kind, f.core].append(f)
    joined = [_joined(_as_written(alike, lexicon)) for alike in by_place.values()]
    return chart.standing_so(sorted(joined, key=lambda m: (m.start, m.end)), joined)


def _joined(alike: list[Span]) -> Span:
    top = max(alike, key=lambda f: f.score)
    if len(alike) == 1 and not top.uneven and not top.unlike:
        return top
    return replace(
        top,
        ids=tuple(ref for f in alike for ref in f.ids),
        groups=tuple(group for f in alike for group in f.groups),
        on=tuple(dict.fromkeys(one for f in alike for one in f.on)),
        uneven=False,
        unlike=(),
    )


def _as_written(alike: list[Span], lexicon: Lexicon) -> list[Span]:
    """Those whose name is written just so, where there are any."""
    said, written = alike[0].text.casefold(), lexicon.board.written
    exact = [f for f in alike for group, ref in f.refs if said in written[f.kind, group, ref]]
    return [*exact, *(f for f in alike if f.score == SHORT)] if exact else alike
