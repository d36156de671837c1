"""What a number counts, by the place where it stands: the options and the item that it leads to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from schemas.cart import CartDraft, ItemLine, NotOnMenuLine
from schemas.evidence import Evidence, SaidNumber
from schemas.menu import Menu
from services.reading.chart.span import Named
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, span, tokenize
from services.reading.language.language import Language, language_of
from services.reading.values.numbers import is_plural, number_value


@dataclass(frozen=True, slots=True)
class Led:
    """The names that a number leads to: options, and the item that they stand before, if any. `joined` where
    an "and" or a comma is among them, `close` where nothing else is."""

    options: tuple[Named, ...] = ()
    item: Named | None = None
    joined: bool = False
    close: bool = True

    def with_names(self, here: Sequence[Named], *, paused: bool) -> Led:
        """With what is named at one place, after a pause or none: the item, if it may be one, or options."""
        item = next((m for m in here if m.kind == "item"), None)
        options = () if item is not None else (m for m in here if m.kind == "option")
        joined = self.joined or paused
        return replace(self, options=(*self.options, *options), item=item, joined=joined)

    def of_its_item(self, menu: Menu) -> bool:
        """Whether several options stand before an item that comes with all of them, and nothing else."""
        if self.item is None or not self.close or len(self.options) < 2:
            return False
        ids = self.item.ids
        groups = {group for item in menu.items if item.sku in ids for group in item.option_groups}
        return all(groups.intersection(option.groups) for option in self.options)


def starting(tokens: Utterance, mentions: Iterable[Named]) -> Mapping[int, list[Named]]:
    """Names by the token that they begin with."""
    starts: dict[int, list[Named]] = defaultdict(list)
    for mention in mentions:
        starts[span(tokens, mention)[0]].append(mention)
    return dict(starts)


def led_to(tokens: Utterance, end: int, starts: Mapping[int, list[Named]]) -> Led:
    """What follows a number that ends before token `end`, up to the next item, number, article or pause:
    "two large ham and chicken pies". `starts` as of `starting`."""
    led, at = Led(), end
    while at < len(tokens) and not _ended(tokens, at, listing=bool(led.options)):
        if here := starts.get(at):
            led = led.with_names(here, paused=at > end and bool(tokens[at - 1].after))
            if led.item is not None:
                break
            at = span(tokens, here[0])[1]
            continue
        joint = tokens[at].folded in tokens.language.conjunctions
        if _begins_another(tokens[at].folded, tokens.language) or (joint and not led.options):
            break
        close = joint or tokens[at].folded in tokens.language.partitive
        led, at = replace(led, joined=led.joined or joint, close=led.close and close), at + 1
    return led


def _begins_another(word: str, language: Language) -> bool:
    """Whether what a number counts is over: "two colas a latte", "two with ice"."""
    return (
        word in language.belonging
        or word in language.indefinite_articles
        or number_value(word, language) is not None
    )


def _ended(tokens: Utterance, at: int, *, listing: bool) -> bool:
    """Whether a pause before token `at` ends what a number counts; a list of options goes on past a comma."""
    pause = tokens[at - 1].after if at else ""
    return bool(pause) and (pause in SENTENCE_ENDS or not listing)


def of_one(tokens: Utterance, start: int, mentions: Sequence[Named]) -> bool:
    """Whether a number counts no items though it stands before one: "a double shot latte", "a small two shot
    latte"."""
    if tokens[start].folded in tokens.language.multiples:
        return True
    sizes = {span(tokens, m)[1]: span(tokens, m)[0] for m in mentions if m.kind == "size"}
    at = start
    while at in sizes and not tokens[at - 1].after:
        at = sizes[at]
    led = at > 0 and tokens[at - 1].folded in tokens.language.indefinite_articles and not tokens[at - 1].after
    return led and tokens[start].folded.isdigit()  # "a couple of oat lattes"


def opens_line(tokens: Utterance, start: int, mentions: Sequence[Named]) -> bool:
    """Whether a line may begin with a number, which goes on from no name and no "with"."""
    if start == 0 or tokens[start - 1].after:
        return True
    before = tokens[start - 1]
    return before.folded not in tokens.language.belonging and not any(
        m.start < before.end <= m.end for m in mentions
    )


def idle_numbers(draft: CartDraft, evidence: Evidence) -> Iterator[int]:
    """Numbers that count nothing in the cart of what they lead to; one that leads to no name may count any
    line. A split one may be the sum of lines that follow one another."""
    tokens = tokenize(evidence.transcript, language_of(evidence.menu))
    starts = starting(tokens, evidence.mentions)
    wished = {line.quantity for line in draft.lines if isinstance(line, NotOnMenuLine)}
    for number in evidence.numbers:
        if number.value > 1 and number.value not in wished | _counts(tokens, number, starts, draft, evidence):
            yield number.value


def _counts(
    tokens: Utterance,
    number: SaidNumber,
    starts: Mapping[int, list[Named]],
    draft: CartDraft,
    evidence: Evidence,
) -> set[int]:
    """What stands in the cart of the names that a number leads to."""
    start, end = (_token_at(tokens, offset) for offset in (number.start, number.end))
    led = led_to(tokens, end, starts)
    lines = [line for line in draft.lines if isinstance(line, ItemLine)]
    if led.item is None and not led.options:
        counts = {o.count for line in lines for o in line.options}
        return counts | _sums(line.quantity for line in draft.lines)
    counts = _of_options(led, lines, several=_of_several(tokens, start, end, number, evidence))
    if led.item is None:
        return counts
    own = _sums(line.quantity if line.sku in led.item.ids else 0 for line in lines)
    alone = led.close and not led.joined and not of_one(tokens, start, evidence.mentions)
    return own if alone else own | counts


def _token_at(tokens: Utterance, offset: int) -> int:
    """The first token that begins at or after a character."""
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def _of_options(led: Led, lines: list[ItemLine], *, several: bool) -> set[int]:
    """The counts of the options that a number leads to; where it may count `several` items told apart by
    them, the quantities of the lines that have one too."""
    said = {pair for m in led.options for pair in zip(m.groups, m.ids, strict=True)}
    counts = {o.count for line in lines for o in line.options if (o.group, o.id) in said}
    if led.item is None and several:
        parts = ({(o.group, o.id) for o in line.options} for line in lines)
        counts |= _sums(line.quantity if said & part else 0 for line, part in zip(lines, parts, strict=True))
    return counts


def _of_several(tokens: Utterance, start: int, end: int, number: SaidNumber, evidence: Evidence) -> bool:
    """Whether a number before options may count some of several: "four tacos, two steak"."""
    said = tokens.language
    if tokens[start - 1].folded in said.belonging:
        return False
    if end < len(tokens) and tokens[end].folded in said.counting_options:
        return False
    before = [m for m in evidence.mentions if m.kind == "item" and m.end <= number.start]
    more = any(n.end <= number.start and n.value >= number.value for n in evidence.numbers)
    return bool(before) and (more or is_plural(before[-1], evidence.menu))


def _sums(quantities: Iterable[int]) -> set[int]:
    """The sums of all runs."""
    each = list(quantities)
    return {total for i in range(len(each)) for total in accumulate(each[i:])}
