"""Two readings of the same words, held against each other.

The first (`whole/`) looks at all words at once; the second (`clauses/`) hears them clause by clause. They
share what names and counts there are, and little else. Where the first leaves the cart open, the second
narrows it to one proposal, and every doubt stays. Where the first leaves nothing open and the second comes to
another cart, that is a doubt of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from schemas import wording
from schemas.cart import MAX_LINES
from schemas.compare import LineKey
from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, OptionEvidence
from schemas.menu import Menu
from schemas.sentences.sentences import ENGLISH
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance
from services.reading.clauses.follow import Watch, follow
from services.reading.clauses.tally import Wish
from services.reading.names.lexicons import lexicon
from services.reading.names.senses import senses
from services.reading.whole.reading import Reading


def retell(evidence: Evidence, reading: Reading, odd: list[int]) -> Evidence:
    """`evidence` beside the second reading of its words; `odd` are the positions, among all words that were
    said, of those that nothing accounts for."""
    menu = evidence.menu
    if evidence.crowded:
        return evidence  # a human reads it all anyway
    wishes = second(evidence.transcript, reading, odd, menu)
    if evidence.plain:
        first = _left(evidence)
        if wishes is not None and _cart(wishes) == _cart(first):
            return evidence
        if not wishes or not _takes_over(first, wishes, reading.chart.words):
            return evidence.model_copy(update={"otherwise": in_words(wishes or [], menu)})
        evidence = evidence.model_copy(update={"otherwise": in_words(first, menu)})
    if wishes is None or len(wishes) >= MAX_LINES or _torn(evidence):
        return evidence
    if not wishes and not evidence.corrected and any(line.required for line in evidence.lines):
        return evidence  # plainly named and not taken back; only the second reading missed it
    return _narrowed(evidence, reading, wishes)


def second(
    text: str, reading: Reading, odd: list[int], menu: Menu, watch: Watch | None = None
) -> list[Wish] | None:
    """The order as the second reading has it; None where it can't follow. `watch` is told of each clause."""
    words, named = reading.chart.words, list(reading.chart.named)
    settled, _ = senses(words, named, menu)
    return follow(text, words, named, settled, odd, menu, lexicon(menu), watch)


def _narrowed(evidence: Evidence, reading: Reading, wishes: list[Wish]) -> Evidence:
    """The evidence of one proposal, with every doubt of the first reading."""
    tokens = reading.chart.words
    off_menu = [_off_menu(evidence.transcript, tokens, wish) for wish in wishes if not wish.items]
    known = " ".join(off.words for off in off_menu)
    off_menu += [off for off in evidence.off_menu if off.words not in known]
    guessed = _guessed(reading.chart.named)
    lines = [_line(evidence.transcript, tokens, wish, wishes) for wish in wishes if wish.items]
    lines = [_unforced(line, guessed) for line in lines]
    update = {
        "lines": tuple(lines),
        "off_menu": tuple(off_menu[: MAX_LINES - len(lines)]),
        "retold": not all(line.settled(evidence.menu) for line in evidence.lines),
    }
    return evidence.model_copy(update=update)


def _takes_over(first: list[Wish], wishes: list[Wish], tokens: Utterance) -> bool:
    """Whether the second reading's cart is proposed, where the first one's is another."""
    if len(wishes) >= MAX_LINES:
        return False
    return _likelier(wishes) > _likelier(first) or _overshared(first, wishes, tokens)


def _likelier(wishes: list[Wish]) -> tuple[int, ...]:
    """Of two carts for the same words, which is likelier meant: what is named twice is seldom wanted twice,
    and who tells more lines apart, or more sizes, has missed less. Seen on 67 told orders with two carts: the
    higher one was right in 50, the second reading's in 32."""
    kinds = len({wish.items for wish in wishes})
    sizes = sum(wish.size is not None for wish in wishes)
    counts = sum(count for wish in wishes for _, count in wish.options.values())
    return -sum(wish.quantity for wish in wishes), kinds, len(wishes), sizes, counts


def _overshared(first: list[Wish], second: list[Wish], tokens: Utterance) -> bool:
    """Whether the first reading only gives more lines an option: "with each" is of the item before."""
    language = tokens.language
    words = [token.folded for token in tokens] + [""]
    alone = any(
        word in language.apiece and after not in language.accompanying for word, after in pairwise(words)
    )
    return alone and all(a.options.items() >= b.options.items() for a, b in zip(first, second, strict=False))


def _torn(evidence: Evidence) -> bool:
    """Whether an option may as well belong to lines of either of two items; no reading can tell."""
    lines: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
    for line in evidence.lines:
        item = evidence.menu.item(line.items[0]) if len(line.items) == 1 else None
        for option in line.options:
            if item is not None and option.either and option.group in item.option_groups:
                lines[option.group, option.id].add(line.items)
    return any(len(items) > 1 for items in lines.values())


def _guessed(mentions: Iterable[Span]) -> set[str]:
    """Items and options that were only guessed at, and said nowhere by their name."""
    guessed: set[str] = set()
    named: set[str] = set()
    for mention in mentions:
        if mention.guessed:
            guessed.update(mention.ids)
        elif mention.strong:
            named.update(mention.ids)
    return guessed - named


def _unforced(line: LineEvidence, guessed: set[str]) -> LineEvidence:
    """A line without force where its name was guessed at, nor with an option that was."""
    options = tuple(o.model_copy(update={"required": o.id not in guessed}) for o in line.options)
    return line.model_copy(update={"options": options, "required": not guessed & set(line.items)})


def _parting(tokens: Utterance, end: int, start: int) -> int:
    """Where the words between two names part: at the last joint or pause, or else right before the second."""
    joining = tokens.language.conjunctions
    joints = [
        i for i in range(end, start) if tokens[i].folded in joining or (i > end and tokens[i - 1].after)
    ]
    return joints[-1] if joints else start


def _line(text: str, tokens: Utterance, wish: Wish, wishes: list[Wish]) -> LineEvidence:
    """The line of one wish, with nothing about it left open."""
    start, end = wish.at
    before = max((w.at[1] for w in wishes if w.at[1] <= start), default=0)
    after = min((w.at[0] for w in wishes if w.at[0] >= end), default=len(tokens))
    first = _parting(tokens, before, start) if before else 0
    first += first < start and tokens[first].folded in tokens.language.conjunctions
    last = _parting(tokens, end, after) if after < len(tokens) else after
    return LineEvidence(
        items=wish.items,
        region=_whole_words(text, tokens[first].start, tokens[last - 1].end),
        anchor=text[tokens[start].start : tokens[end - 1].end],
        quantities=(wish.quantity,),
        sizes=(wish.size,) if wish.size else (),
        size_required=wish.size is not None,
        options=tuple(
            OptionEvidence(group=group, id=ref, amounts=(amount,), counts=(count,), required=True)
            for (group, ref), (amount, count) in wish.options.items()
        ),
        required=True,
    )


def _off_menu(text: str, tokens: Utterance, wish: Wish) -> OffMenuEvidence:
    words = text[tokens[wish.at[0]].start : tokens[wish.at[1] - 1].end]
    return OffMenuEvidence(words=words, quantities=(wish.quantity,), required=True)


def _whole_words(text: str, start: int, end: int) -> str:
    start, end = text.rfind(" ", 0, start + 1) + 1, text.find(" ", end)
    return text[start:] if end < 0 else text[start:end]


def _cart(wishes: Iterable[Wish]) -> Counter[LineKey]:
    """Lines and how many of each, as `schemas/compare.py` compares carts."""
    lines: Counter[LineKey] = Counter()
    for wish in wishes:
        kind, sku = ("item", wish.items[0]) if wish.items else ("not_on_menu", None)
        options = ((*choice, amount.value, count) for choice, (amount, count) in wish.options.items())
        lines[kind, sku, wish.size, frozenset(options)] += wish.quantity
    return lines


def _left(evidence: Evidence) -> list[Wish]:
    """The one cart that settled lines leave."""
    wishes = []
    for line in evidence.lines:
        item = evidence.menu.item(line.items[0])
        groups, sizes = (item.option_groups, item.size_ids) if item is not None else ((), ())
        options = {(o.group, o.id): (o.amounts[0], o.counts[0]) for o in line.options if o.group in groups}
        size = next((size for size in line.sizes if size in sizes), None)
        wishes.append(Wish(line.items, (0, 0), line.quantities[0], size, options))
    return wishes


def in_words(wishes: Iterable[Wish], menu: Menu) -> str:
    """A cart as its customer is asked about it."""
    return wording.open_order((line_in_words(wish, menu, menu.language) for wish in wishes), menu.language)


def line_in_words(wish: Wish, menu: Menu, language: str = ENGLISH) -> str:
    """One line of it; both names of an item that is still open."""
    return wording.open_line(wish.quantity, wish.items, wish.size, wish.options, menu, language)
