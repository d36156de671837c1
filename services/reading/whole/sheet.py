"""The words of an order on a sheet: what is said where, what is struck out, what is put in its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemas.menu import Menu
from services.reading.chart.phrases import phrase_end
from services.reading.chart.span import EXACT, Span
from services.reading.chart.tokens import SENTENCE_ENDS, Token, Utterance, covered, span
from services.reading.values.numbers import number_value


class NotPlain(Exception):
    """A correction that only the whole of the sentence can tell."""


def names(span: Span) -> set[tuple[str, str]]:
    """Groups and ids that the words may mean; a number names nothing."""
    return set(span.refs)


def groups(span: Span) -> set[str]:
    """Groups of what the words may mean."""
    return {group for group, _ in span.refs}


def exchangeable(one: Span, other: Span) -> bool:
    """Whether one can take the other's place: options are of one group."""
    if one.kind != other.kind or one.kind != "option":
        return one.kind == other.kind
    return bool(groups(one) & groups(other))


class Sheet:
    """Words with what is struck out of them. Positions are of tokens; values keep the words' order.

    Of the groups `single` only one option can be chosen; `offered` are the groups that an item comes with, by
    its sku. `gone_at` is where what was taken back last ends, -1 where nothing was."""

    def __init__(self, tokens: Utterance, mentions: list[Span], menu: Menu) -> None:
        self.tokens = tokens
        self.language = tokens.language
        self.single = menu.choose_one
        self.offered = {item.sku: set(item.option_groups) for item in menu.items}
        self.gone_at = -1
        self._mentions = mentions
        self._struck: set[int] = set()
        self._numbers: dict[int, str] = {}
        self._pauses: dict[int, str] = {}
        self._names: dict[Span, Span] = {}
        self.named = covered(tokens, mentions)
        values = [m for m in mentions if not m.guessed]
        values += [
            _number(token, i)
            for i, token in enumerate(tokens)
            if i not in self.named and number_value(token.folded, tokens.language)
        ]
        self.values = sorted(values, key=lambda v: (v.first, v.kind != "item"))

    def earlier(self, value: Span, at: int) -> Span | None:
        """The last mention before `at` that the words of `value` may mean."""
        return next(
            (v for v in reversed(self.before(at)) if v.kind == value.kind and names(v) & names(value)),
            None,
        )

    def before(self, at: int) -> list[Span]:
        """What was said before `at` and still stands."""
        return [v for v in self.values if v.past <= at and not self._struck & set(range(v.first, v.past))]

    def after(self, at: int) -> Span | None:
        """The value that follows, past articles and amounts."""
        little = self.language.before_values
        while at < len(self.tokens) and at not in self.named and self.tokens[at].folded in little:
            at += 1
        return next((v for v in self.values if v.first == at), None)

    def item_after(self, value: Span) -> Span | None:
        """The item that `value` leads to, or is: "three large" leads to the latte of "three large lattes"."""
        while value.kind != "item":
            following = next((v for v in self.values if v.first == value.past), None)
            if following is None or self.tokens[value.past - 1].after:
                return None
            value = following
        return value

    def goes_on(self, at: int) -> bool:
        """Whether anything is named or counted in the rest of the sentence."""
        for i in range(at, len(self.tokens)):
            if any(v.first == i for v in self.values):
                return True
            if self.tokens[i].after in SENTENCE_ENDS:
                break
        return False

    def clause(self, item: Span) -> tuple[int, int]:
        """The words around an item up to the nearest joint on either side."""
        tokens, joints = self.tokens, self.language.conjunctions
        start, end = item.first, item.past
        while start > 0 and not tokens[start - 1].after and tokens[start - 1].folded not in joints:
            start -= 1
        while end < len(tokens) and not tokens[end - 1].after and tokens[end].folded not in joints:
            end += 1
        return start, end

    def next_clause(self, item: Span, at: int) -> int:
        """Where the words around the next item before `at` begin; `at` itself when none follows."""
        following = next((v for v in self.before(at) if v.kind == "item" and v.first >= item.past), None)
        return at if following is None else self.clause(following)[0]

    def is_choice(self, item: Span) -> bool:
        """Whether the words that name an item name an option as well."""
        return any(v.kind == "option" and (v.first, v.past) == (item.first, item.past) for v in self.values)

    def phrase(self, at: int, phrases: Iterable[tuple[str, ...]]) -> int | None:
        """The end of the longest of `phrases` that stands at `at`."""
        return phrase_end(self.tokens, at, phrases)

    def strike(self, start: int, end: int) -> None:
        """Take the words at [start, end) out."""
        self._struck |= set(range(start, end))

    def strike_amount(self, value: Span) -> None:
        """Take out the word right before a value that says how much of it."""
        amounts = self.language.amounts
        if any(token.folded in amounts for token in self.tokens[value.first - 1 : value.first]):
            self.strike(value.first - 1, value.first)

    def lend(self, old: Span, new: Span) -> None:
        """`new` said at the place of `old`: its line, its order of words."""
        if new.kind == "number":
            self._numbers[old.first] = self.tokens[new.first].folded
        else:
            self._names[old] = replace(new, start=old.start, end=old.end, on=(*new.on, old))
        self._pauses[old.past - 1] = self.tokens[new.past - 1].after
        self.strike(new.first, new.past)

    def result(self) -> tuple[Utterance, list[Span]]:
        """The words and mentions that are left."""
        kept: list[Token] = []
        last = -1
        for i, token in enumerate(self.tokens):
            if i in self._struck:
                # A pause stays one, though the word before it is gone.
                if token.after and kept and not kept[-1].after and last not in self._pauses:
                    kept[-1] = replace(kept[-1], after=token.after)
                continue
            after = self._pauses.get(i, token.after)
            kept.append(replace(token, folded=self._numbers.get(i, token.folded), after=after))
            last = i
        mentions = [
            self._names.get(m, m)
            for m in self._mentions
            if not self._struck & set(range(*span(self.tokens, m)))
        ]
        return self.tokens.of(kept), mentions


def _number(token: Token, at: int) -> Span:
    """A word that counts, as something that a correction may be about."""
    return Span("number", (), (), (at,), token.start, token.end, token.folded, EXACT, "number")
