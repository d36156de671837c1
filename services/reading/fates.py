"""What became of each name and number that the words of an order may hold: which of them stand in the end,
and what the others lost to. An account of the reading for people; it settles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from schemas.evidence import Mention
from schemas.explanation import Loss, Rule
from schemas.menu import Menu
from services.reading.chart.resolve import Found, outdone
from services.reading.chart.tokens import Utterance, covered, span
from services.reading.names.lexicon import Lexicon
from services.reading.names.lexicons import lexicon
from services.reading.names.sorts import with_sorts
from services.reading.values.numbers import Number, find_numbers, number_value
from services.reading.whole.reading import Reading

# Kind, group and id; and the same at characters [start, end).
Key = tuple[str, str, str]
_Placed = tuple[Key, int, int]


@dataclass(frozen=True, slots=True)
class Fate:
    """One candidate with what became of it."""

    key: Key
    core: tuple[int, ...]
    score: float
    rule: Rule
    why: Loss | None = None
    lost_to: Key | None = None


def names_of_reading(text: str, reading: Reading, menu: Menu) -> Iterator[Fate]:
    """Every candidate, and every name that only other names tell of."""
    tokens, names = reading.said, lexicon(menu)
    found = names.candidates(tokens)
    kept = names.resolved(tokens, found)
    stood = {(_key(f), f.core) for f in kept}
    for f in _best(found):
        if (_key(f), f.core) not in stood:
            winner, lost = outdone(f, found, kept)
            yield Fate(_key(f), f.core, f.score, f.rule, lost, _key(winner) if winner else None)
    later = _Later(text, reading, names)
    for f in _best(kept):
        why, to = later.of(_key(f), tokens[f.core[0]].start, tokens[f.core[-1]].end)
        yield Fate(_key(f), f.core, f.score, f.rule, why, to)
    own = {(_key(f), tokens[f.core[0]].start, tokens[f.core[-1]].end) for f in kept}
    for mention in (*reading.heard, *later.last):
        for key in _keys(mention):
            placed = key, mention.start, mention.end
            if placed not in own:
                own.add(placed)
                first, end = span(tokens, mention)
                why, to = later.of(*placed)
                yield Fate(key, tuple(range(first, end)), mention.score, later.rule(*placed), why, to)


class _Later:
    """What became of names that stood among the candidates, once the rest of the order was looked at."""

    def __init__(self, text: str, reading: Reading, names: Lexicon) -> None:
        self._reading = reading
        found = names.find(text, reading.said)
        self._named = _placed(found)
        self._sorted = _placed(with_sorts(text, reading.said, found, names.of_sort))
        self._heard = _placed(reading.heard)
        self.last = [_as_said(mention, reading) for mention in reading.mentions]
        self._last = _placed(self.last)
        # What was put in the place of what was taken back.
        self._instead: dict[tuple[int, int, str], Key] = {
            (old.start, old.end, old.kind): _keys(old)[0]
            for old, new in zip(reading.mentions, self.last, strict=True)
            if old is not new
        }
        self._standing = {token.start for token in reading.tokens}

    def of(self, key: Key, start: int, end: int) -> tuple[Loss | None, Key | None]:
        """Why a name at characters [start, end) does not stand, and for which one; (None, None) where it
        does."""
        if (key, start, end) not in self._heard | self._last:
            return self._unheard(key, start, end)
        if (start, end, key[0]) in self._instead:
            return "taken_back", self._instead[start, end, key[0]]
        if any(k == key and low < end and start < high for k, low, high in self._last):
            return None, None
        struck = [t for t in self._reading.said if start <= t.start < end and t.start not in self._standing]
        if struck:
            return "taken_back", None
        return "other_sense", self._at(self._last, key, start, end)

    def _unheard(self, key: Key, start: int, end: int) -> tuple[Loss, Key | None]:
        """Why a name that was found is not among those heard."""
        if (key, start, end) not in self._named:
            return "spelled", self._at(self._named, key, start, end)
        around = [p for p in self._heard if p[1] <= start and end <= p[2]]
        if not around or any((p[1], p[2]) == (start, end) for p in around):
            return "not_offered", self._at(self._heard, key, start, end)
        return "longer", around[0][0]

    def rule(self, key: Key, start: int, end: int) -> Rule:
        """What found a name that is none of the candidates."""
        if (key, start, end) not in self._heard:
            return "so_many_pieces"
        return "called_by_choice" if (key, start, end) in self._sorted else "implied"

    @staticmethod
    def _at(where: set[_Placed], key: Key, start: int, end: int) -> Key | None:
        """The first other name of `where` that has words there."""
        return min((k for k, low, high in where if k != key and low < end and start < high), default=None)


def _as_said(mention: Mention, reading: Reading) -> Mention:
    """A mention that stands, where its words are: what corrects another stands in its place."""
    alike = [m for m in reading.heard if {*_keys(mention)} <= {*_keys(m)} and m.text == mention.text]
    if not alike or any((m.start, m.end) == (mention.start, mention.end) for m in alike):
        return mention
    return next((m for m in alike if m.start >= mention.end), alike[-1])


def numbers_of_reading(reading: Reading, menu: Menu) -> Iterator[Fate]:
    """Numbers as they were said, and which of them count something in the end."""
    tokens, heard = reading.said, reading.heard
    said = list(find_numbers(tokens, covered(tokens, heard), heard, menu))
    standing = {token.start: token.folded for token in reading.tokens}
    sizes = {m.start: m for m in reading.mentions if m.kind != "item"}
    counting, instead, more = _counting(reading, said)
    for i, number in enumerate(said):
        start = tokens[number.start].start
        why: Loss | None = None
        to = None
        if i not in counting and standing.get(start) == tokens[number.start].folded:
            why = "counts_pieces" if start in sizes else "other_sense"
            to = _keys(sizes[start])[0] if start in sizes else None
        elif i not in counting:
            why, to = "taken_back", instead.get(start)
        yield _number(tokens, number, why, to)
    for number in more:
        yield _number(tokens, number, None, None)


def _counting(reading: Reading, said: list[Number]) -> tuple[set[int], dict[int, Key], list[Number]]:
    """Which of the numbers that were said count in the end; by the character where one began, the number that
    corrects it; and those that only came out once the names were settled."""
    starts = [reading.said[number.start].start for number in said]
    at = {token.start: i for i, token in enumerate(reading.said)}
    standing = {token.start for token in reading.tokens}
    counting: set[int] = set()
    instead: dict[int, Key] = {}
    more = []
    for number in reading.numbers:
        start = reading.tokens[number.start].start
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


def _number(tokens: Utterance, number: Number, why: Loss | None, to: Key | None) -> Fate:
    spelt = number_value(tokens[number.start].folded, tokens.language) is not None
    rule: Rule = "number" if spelt else "sounds_like_number"
    key, core = ("number", "", str(number.value)), tuple(range(number.start, number.end))
    return Fate(key, core, 1.0 if number.likely else 0.5, rule, why, to)


def _key(f: Found) -> Key:
    return f.kind, f.group, f.id


def _keys(mention: Mention) -> list[Key]:
    groups = mention.groups or ("",) * len(mention.ids)
    return [(mention.kind, group, ref) for group, ref in zip(groups, mention.ids, strict=True)]


def _placed(mentions: Iterable[Mention]) -> set[_Placed]:
    return {(key, m.start, m.end) for m in mentions for key in _keys(m)}


def _best(found: list[Found]) -> list[Found]:
    """Each reading of each words once, by the rule that likes it best."""
    best: dict[tuple[Key, tuple[int, ...]], Found] = {}
    for f in found:
        at = _key(f), f.core
        if at not in best or best[at].score < f.score:
            best[at] = f
    return list(best.values())
