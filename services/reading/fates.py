"""What became of each name and number that the words of an order may hold: which of them stand in the end,
and what the others lost to. It looks at the chart after each pass: an account for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from schemas.explanation import Loss, Rule
from services.reading.chart.chart import Chart
from services.reading.chart.resolve import outdone
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import covered
from services.reading.names.finding.called_by_choice import called_by_choice
from services.reading.names.finding.guesses import guess_names
from services.reading.names.finding.implied import implied_items
from services.reading.names.finding.sounding_alike import said_alike
from services.reading.names.resolving import join_alike
from services.reading.names.senses import choose_senses, keep_offered
from services.reading.passes import Pass
from services.reading.values.numbers import find_numbers, number_value, take_as_pieces
from services.reading.whole.revisions import strike_out

# Kind, group and id; and the same at some words.
Key = tuple[str, str, str]
_Placed = tuple[Key, tuple[int, ...]]

# Why a name that stood before one of these passes does not stand after it.
_LOST_AT: Mapping[Pass, Loss] = {
    join_alike: "spelled",
    called_by_choice: "longer",
    implied_items: "other_sense",
    keep_offered: "not_offered",
    strike_out: "taken_back",
    choose_senses: "other_sense",
    take_as_pieces: "counts_pieces",
}


@dataclass(frozen=True, slots=True)
class Fate:
    """One candidate with what became of it; `on` are the spans that it rests on."""

    key: Key
    core: tuple[int, ...]
    score: float
    rule: Rule
    on: tuple[Span, ...] = ()
    why: Loss | None = None
    lost_to: Key | None = None


def fates_of_names(steps: Mapping[Pass, Chart]) -> Iterator[Fate]:
    """Every name that any pass made; `steps` are the charts after each of them."""
    kept = steps[guess_names].standing
    competing = _best([*steps[said_alike].spans, *steps[guess_names].spans])
    stood = {placed for span in kept for placed in _placed(span)}
    for placed, span in competing.items():
        if placed not in stood:
            winner, lost = outdone(span, list(competing.values()), list(kept))
            yield replace(_fate(placed, span), why=lost, lost_to=_keys(winner)[0] if winner else None)
    yield from _later(_best(kept), steps)


def _later(kept: Mapping[_Placed, Span], steps: Mapping[Pass, Chart]) -> Iterator[Fate]:
    """What became of names that were `kept` once the rest of the order was looked at, and of those that only
    other names tell of."""
    live = {placed: _fate(placed, span) for placed, span in kept.items()}
    for each, why in _LOST_AT.items():
        after = {placed: span for span in steps[each].standing for placed in _placed(span)}
        for placed in [one for one in live if one not in after]:
            fate = live.pop(placed)
            if not any(key == placed[0] and {*core} & {*placed[1]} for key, core in after):
                yield replace(fate, why=why, lost_to=_in_its_place(placed, after, each))
        for placed, span in after.items():
            live[placed] = replace(live[placed], on=span.on) if placed in live else _fate(placed, span)
    yield from live.values()


def _fate(placed: _Placed, span: Span) -> Fate:
    return Fate(*placed, span.score, span.rule, span.on)


def _in_its_place(lost: _Placed, after: Mapping[_Placed, Span], at: Pass) -> Key | None:
    """What stands in the place of a name that was lost: what rests on it, or has some of its words."""
    rest = (key for (key, _), span in after.items() if any(lost in _placed(one) for one in span.on))
    beside = (key for key, core in after if at is not strike_out and {*core} & {*lost[1]})
    return next(rest, None) or min(beside, default=None)


def fates_of_numbers(chart: Chart) -> Iterator[Fate]:
    """Numbers as they were said, and which of them count something in the end."""
    tokens, named = chart.words, list(chart.named)
    said = list(find_numbers(tokens, covered(tokens, named), named, chart.menu))
    standing = {token.start: token.folded for token in chart.left}
    sizes = {m.start: m for m in chart.standing if m.kind != "item"}
    counting, instead, more = _counting(chart, said)
    for i, number in enumerate(said):
        start = tokens[number.start].start
        why: Loss | None = None
        to = None
        if i not in counting and standing.get(start) == tokens[number.start].folded:
            why = "counts_pieces" if start in sizes else "other_sense"
            to = _keys(sizes[start])[0] if start in sizes else None
        elif i not in counting:
            why, to = "taken_back", instead.get(start)
        yield _number(chart, number, why, to)
    for number in more:
        yield _number(chart, number, None, None)


def _counting(chart: Chart, said: list[Number]) -> tuple[set[int], dict[int, Key], list[Number]]:
    """Which of the numbers that were said count in the end; by the character where one began, the number that
    corrects it; and those that only came out once the names were settled."""
    starts = [chart.words[number.start].start for number in said]
    at = {token.start: i for i, token in enumerate(chart.words)}
    standing = {token.start for token in chart.left}
    counting: set[int] = set()
    instead: dict[int, Key] = {}
    more = []
    for number in chart.numbers:
        start = chart.left[number.start].start
        same = {starts[i]: i for i, one in reversed([*enumerate(said)]) if one.value == number.value}
        same = {first: i for first, i in same.items() if i not in counting}
        # A number that corrects another stands in its place, and is struck out where it was said.
        later = min((first for first in same if first > start and first not in standing), default=None)
        if start in same:
            counting.add(same[start])
        elif later is not None:
            counting.add(same[later])
            instead[start] = "number", "", str(number.value)
        else:
            more.append(replace(number, start=at[start], end=at[start] + number.end - number.start))
    return counting, instead, more


def _number(chart: Chart, number: Number, why: Loss | None, to: Key | None) -> Fate:
    tokens = chart.words
    key, core = ("number", "", str(number.value)), tuple(range(number.start, number.end))
    if number_value(tokens[number.start].folded, tokens.language) is not None:
        return Fate(key, core, 1.0 if number.likely else 0.5, "number", (), why, to)
    after = tokens[number.end : number.end + 1]
    on = tuple(m for m in chart.named for token in after if m.start == token.start)
    return Fate(key, core, 1.0 if number.likely else 0.5, "sounds_like_number", on, why, to)


def _keys(span: Span) -> list[Key]:
    return [(span.kind, *ref) for ref in span.refs]


def _placed(span: Span) -> list[_Placed]:
    return [(key, span.core) for key in _keys(span)]


def _best(found: Iterable[Span]) -> dict[_Placed, Span]:
    """Each reading of each words once, by the rule that likes it best."""
    best: dict[_Placed, Span] = {}
    for span in found:
        for placed in _placed(span):
            if placed not in best or best[placed].score < span.score:
                best[placed] = span
    return best
