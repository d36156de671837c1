"""What the reading did with the words of one order: every rule's candidates, what stood of them and what they
lost to, the numbers, and the order clause by clause.

It runs the parts of the reading again, on the same words, and watches them; nothing of it is kept or shared,
and an order that nobody asks about pays nothing for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.evidence import Mention
from schemas.explanation import ExplainedClause, ExplainedToken, Loss, ReadingExplained, Ref, Rule, Span
from schemas.menu import Menu
from services.reading.chart.resolve import Found, outdone
from services.reading.chart.tokens import Token, covered, span
from services.reading.clauses.clause import Clause
from services.reading.clauses.tally import Wish
from services.reading.effort import ORDER_STEPS, budget
from services.reading.names.lexicon import Lexicon
from services.reading.names.lexicons import lexicon
from services.reading.names.sorts import with_sorts
from services.reading.order import clean, unaccounted
from services.reading.retelling import line_in_words, second
from services.reading.values.numbers import Number, find_numbers, number_value
from services.reading.whole.reading import Reading, read

# The words are read, their names found again, and each candidate is held against those that stand.
_TIMES = 4

# Kind, group and id; and the same at characters [start, end).
_Key = tuple[str, str, str]
_Placed = tuple[_Key, int, int]


@dataclass(frozen=True, slots=True)
class _Said:
    """One candidate with what became of it."""

    key: _Key
    core: tuple[int, ...]
    score: float
    rule: Rule
    why: Loss | None = None
    lost_to: _Key | None = None


def explain_reading(transcript: str, menu: Menu) -> ReadingExplained:
    """The way from the words to the names, numbers and clauses that stand; pure, as `read_order` is.

    Raises:
        TooMuchToRead: the words over this menu are past four times `ORDER_STEPS`.
    """
    with budget(_TIMES * ORDER_STEPS, "these words over this menu, to explain them,"):
        text = clean(transcript)
        reading = read(text, menu)
        odd = set(unaccounted(text, reading, menu))
        standing = {token.start for token in reading.tokens}
        said = [*_names(text, reading, menu), *_numbers(reading, menu)]
        return ReadingExplained(
            text=text,
            tokens=tuple(
                ExplainedToken(
                    text=text[token.start : token.end],
                    folded=token.folded,
                    start=token.start,
                    end=token.end,
                    unexplained=i in odd,
                    struck=token.start not in standing,
                )
                for i, token in enumerate(reading.said)
            ),
            spans=tuple(_spans(text, reading.said, said, menu)),
            clauses=tuple(_clauses(text, reading, sorted(odd), menu)),
        )


def _names(text: str, reading: Reading, menu: Menu) -> Iterator[_Said]:
    """Every candidate, and every name that only other names tell of."""
    tokens, names = reading.said, lexicon(menu)
    found = names.candidates(tokens)
    kept = names.resolved(tokens, found)
    stood = {(_key(f), f.core) for f in kept}
    for f in _best(found):
        if (_key(f), f.core) not in stood:
            winner, lost = outdone(f, found, kept)
            yield _Said(_key(f), f.core, f.score, f.rule, lost, _key(winner) if winner else None)
    later = _Later(text, reading, names)
    for f in _best(kept):
        why, to = later.of(_key(f), tokens[f.core[0]].start, tokens[f.core[-1]].end)
        yield _Said(_key(f), f.core, f.score, f.rule, why, to)
    own = {(_key(f), tokens[f.core[0]].start, tokens[f.core[-1]].end) for f in kept}
    for mention in (*reading.heard, *later.last):
        for key in _keys(mention):
            placed = key, mention.start, mention.end
            if placed not in own:
                own.add(placed)
                first, end = span(tokens, mention)
                why, to = later.of(*placed)
                yield _Said(key, tuple(range(first, end)), mention.score, later.rule(*placed), why, to)


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
        self._instead: dict[tuple[int, int, str], _Key] = {
            (old.start, old.end, old.kind): _keys(old)[0]
            for old, new in zip(reading.mentions, self.last, strict=True)
            if old is not new
        }
        self._standing = {token.start for token in reading.tokens}

    def of(self, key: _Key, start: int, end: int) -> tuple[Loss | None, _Key | None]:
        """Why a name at characters [start, end) does not stand, and for which one; (None, None) where it
        does."""
        if (key, start, end) not in self._heard | self._last:
            if (key, start, end) not in self._named:
                return "spelled", self._at(self._named, key, start, end)
            around = [p for p in self._heard if p[1] <= start and end <= p[2]]
            if any((p[1], p[2]) == (start, end) for p in around) or not around:
                return "not_offered", self._at(self._heard, key, start, end)
            return "longer", around[0][0]
        if (start, end, key[0]) in self._instead:
            return "taken_back", self._instead[start, end, key[0]]
        if any(k == key and low < end and start < high for k, low, high in self._last):
            return None, None
        struck = [t for t in self._reading.said if start <= t.start < end and t.start not in self._standing]
        if struck:
            return "taken_back", None
        return "other_sense", self._at(self._last, key, start, end)

    def rule(self, key: _Key, start: int, end: int) -> Rule:
        """What found a name that is none of the candidates."""
        if (key, start, end) not in self._heard:
            return "so_many_pieces"
        return "called_by_choice" if (key, start, end) in self._sorted else "implied"

    @staticmethod
    def _at(where: set[_Placed], key: _Key, start: int, end: int) -> _Key | None:
        """The first other name of `where` that has words there."""
        return min((k for k, low, high in where if k != key and low < end and start < high), default=None)


def _as_said(mention: Mention, reading: Reading) -> Mention:
    """A mention that stands, where its words are: what corrects another stands in its place."""
    alike = [m for m in reading.heard if {*_keys(mention)} <= {*_keys(m)} and m.text == mention.text]
    if not alike or any((m.start, m.end) == (mention.start, mention.end) for m in alike):
        return mention
    return next((m for m in alike if m.start >= mention.end), alike[-1])


def _numbers(reading: Reading, menu: Menu) -> Iterator[_Said]:
    """Numbers as they were said, and which of them count something in the end."""
    tokens, heard = reading.said, reading.heard
    said = list(find_numbers(tokens, covered(tokens, heard), heard, menu))
    places = {tokens[n.start].start for n in said}
    left = [(reading.tokens[n.start].start, n.value) for n in reading.numbers]
    standing = {token.start: token.folded for token in reading.tokens}
    sizes = {m.start: m for m in reading.mentions if m.kind != "item"}
    for number in said:
        start = tokens[number.start].start
        stands = standing.get(start) == tokens[number.start].folded
        instead = [(at, value) for at, value in left if value == number.value and at in places]
        why: Loss | None = None
        to = None
        if stands and (start, number.value) not in left:
            why = "counts_pieces" if start in sizes else "other_sense"
            to = _keys(sizes[start])[0] if start in sizes else None
        elif not stands:
            # A number that corrects another stands in its place.
            corrects = start not in standing and any(at < start for at, _ in instead)
            other = next((value for at, value in left if at == start), None)
            why = None if corrects else "taken_back"
            to = ("number", "", str(other)) if other else None
        yield _number(tokens, number, why, to)


def _number(tokens: list[Token], number: Number, why: Loss | None, to: _Key | None) -> _Said:
    rule: Rule = "sounds_like_number" if number_value(tokens[number.start].folded) is None else "number"
    key, core = ("number", "", str(number.value)), tuple(range(number.start, number.end))
    return _Said(key, core, 1.0 if number.likely else 0.5, rule, why, to)


def _spans(text: str, tokens: list[Token], said: list[_Said], menu: Menu) -> list[Span]:
    """In the order of the words, those chosen first; what fits the same words alike as one."""
    alike: dict[tuple[object, ...], list[_Said]] = defaultdict(list)
    for one in said:
        alike[one.key[0], one.core, one.rule, one.score, one.why, one.lost_to].append(one)
    called = _Called(menu)
    spans = []
    for group in alike.values():
        first = group[0]
        spans.append(
            Span(
                kind=first.key[0],
                tokens=first.core,
                text=text[tokens[first.core[0]].start : tokens[first.core[-1]].end],
                refs=tuple(called.ref(one.key) for one in group),
                score=round(first.score, 3),
                rule=first.rule,
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

    def ref(self, key: _Key) -> Ref:
        return Ref(id=key[2], group=key[1], name=self._names.get(key, key[2]))


def _clauses(text: str, reading: Reading, odd: list[int], menu: Menu) -> list[ExplainedClause]:
    """What the second reading hears, whether its cart is asked for or not."""
    tokens = reading.said
    heard: list[ExplainedClause] = []

    def watch(clause: Clause, wishes: list[Wish] | None) -> None:
        heard.append(
            ExplainedClause(
                start=clause.start,
                end=clause.end,
                text=text[tokens[clause.start].start : tokens[clause.end - 1].end],
                lead=clause.lead,
                cue=clause.cue,
                asks=clause.asks,
                tale=clause.tale,
                order=tuple(line_in_words(wish, menu) for wish in wishes or ()),
                followed=wishes is not None,
            )
        )

    second(text, reading, odd, menu, watch)
    return heard


def _key(f: Found) -> _Key:
    return f.kind, f.group, f.id


def _keys(mention: Mention) -> list[_Key]:
    groups = mention.groups or ("",) * len(mention.ids)
    return [(mention.kind, group, ref) for group, ref in zip(groups, mention.ids, strict=True)]


def _placed(mentions: Iterable[Mention]) -> set[_Placed]:
    return {(key, m.start, m.end) for m in mentions for key in _keys(m)}


def _best(found: list[Found]) -> list[Found]:
    """Each reading of each words once, by the rule that likes it best."""
    best: dict[tuple[_Key, tuple[int, ...]], Found] = {}
    for f in found:
        at = _key(f), f.core
        if at not in best or best[at].score < f.score:
            best[at] = f
    return list(best.values())
