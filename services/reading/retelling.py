"""Two readings of the same words, held against each other.

The first (`reading.py`) looks at all words at once; the second (`following.py`) hears them clause by clause.
They share what names and counts there are, and little else. Where the first leaves the cart open, the second
narrows it to one proposal, and every doubt stays. Where the first leaves nothing open and the second comes to
another cart, that is a doubt of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from schemas.cart import MAX_LINES, Amount
from schemas.compare import canonical
from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, OptionEvidence
from schemas.menu import Menu
from services.reading.chart.tokens import Utterance
from services.reading.clauses.follow import Watch, follow
from services.reading.clauses.tally import Wish
from services.reading.language.english import AND
from services.reading.names.lexicons import lexicon
from services.reading.whole.places import find_places
from services.reading.whole.reading import Reading


def retell(evidence: Evidence, reading: Reading, odd: list[int]) -> Evidence:
    """`evidence` beside the second reading of its words; `odd` are the positions, among all words that were
    said, of those that nothing accounts for."""
    menu, tokens = evidence.menu, reading.said
    if evidence.crowded:
        return evidence  # a human reads it all anyway
    wishes = second(evidence.transcript, reading, odd, menu)
    if evidence.plain:
        first = _left(evidence)
        if wishes is not None and canonical(_cart(wishes)) == canonical(_cart(first)):
            return evidence
        if not wishes or len(wishes) >= MAX_LINES:
            return evidence.model_copy(update={"otherwise": in_words(wishes or [], menu)})
        if _likelier(first) >= _likelier(wishes) and not _overshared(first, wishes, tokens):
            return evidence.model_copy(update={"otherwise": in_words(wishes, menu)})
        evidence = evidence.model_copy(update={"otherwise": in_words(first, menu)})
    if wishes is None or len(wishes) >= MAX_LINES or _torn(evidence):
        return evidence
    off_menu = [_off_menu(evidence.transcript, tokens, wish) for wish in wishes if not wish.items]
    known = " ".join(off.words for off in off_menu)
    off_menu += [off for off in evidence.off_menu if off.words not in known]
    guessed = {ref for m in reading.heard if m.guessed for ref in m.ids}
    guessed -= {ref for m in reading.heard if m.strong and not m.guessed for ref in m.ids}
    lines = [_line(evidence.transcript, tokens, wish, wishes) for wish in _items(wishes)]
    lines = [_unforced(line, guessed) for line in lines]
    update = {
        "lines": tuple(lines),
        "off_menu": tuple(off_menu[: MAX_LINES - len(lines)]),
        "retold": not all(line.settled(menu) for line in evidence.lines),
    }
    return evidence.model_copy(update=update)


def second(
    text: str, reading: Reading, odd: list[int], menu: Menu, watch: Watch | None = None
) -> list[Wish] | None:
    """The order as the second reading has it; None where it can't follow. `watch` is told of each clause."""
    settled = find_places(reading.said, reading.heard, menu)[1]
    return follow(text, reading.said, reading.heard, settled, odd, menu, lexicon(menu), watch)


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
    words = [token.folded for token in tokens]
    alone = any(word == "each" and words[i + 1 : i + 2] != ["with"] for i, word in enumerate(words))
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


def _items(wishes: list[Wish]) -> list[Wish]:
    return [wish for wish in wishes if wish.items]


def _unforced(line: LineEvidence, guessed: set[str]) -> LineEvidence:
    """A line without force where its name was guessed at, nor with an option that was."""
    options = tuple(o.model_copy(update={"required": o.id not in guessed}) for o in line.options)
    return line.model_copy(update={"options": options, "required": not guessed & set(line.items)})


def _parting(tokens: Utterance, end: int, start: int) -> int:
    """Where the words between two names part: at the last joint or pause, or else right before the second."""
    joints = [i for i in range(end, start) if tokens[i].folded in AND or (i > end and tokens[i - 1].after)]
    return joints[-1] if joints else start


def _line(text: str, tokens: Utterance, wish: Wish, wishes: list[Wish]) -> LineEvidence:
    """The line of one wish, with nothing about it left open."""
    start, end = wish.at
    before = max((w.at[1] for w in wishes if w.at[1] <= start), default=0)
    after = min((w.at[0] for w in wishes if w.at[0] >= end), default=len(tokens))
    first = _parting(tokens, before, start) if before else 0
    first += first < start and tokens[first].folded in AND
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


def _cart(wishes: Iterable[Wish]) -> list[dict[str, Any]]:
    return [
        {
            "kind": "item" if wish.items else "not_on_menu",
            "sku": wish.items[0] if wish.items else None,
            "quantity": wish.quantity,
            "size": wish.size,
            "options": [
                {"group": group, "id": ref, "amount": amount.value, "count": count}
                for (group, ref), (amount, count) in wish.options.items()
            ],
        }
        for wish in wishes
    ]


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


def in_words(wishes: list[Wish], menu: Menu) -> str:
    """A cart as a reviewer would say it."""
    return "; ".join(line_in_words(wish, menu) for wish in wishes) or "something else"


def line_in_words(wish: Wish, menu: Menu) -> str:
    """One line of it; both names of an item that is still open."""
    size = menu.size(wish.size) if wish.size else None
    items = [item.name for item in map(menu.item, wish.items) if item is not None]
    choices = []
    for (group, ref), (amount, count) in wish.options.items():
        known = menu.group(group)
        name = next((o.name for o in known.options if o.id == ref), ref) if known else ref
        choices.append(" ".join([*_amount(amount), *([str(count)] if count > 1 else []), name]))
    parts = [*([size.name] if size else []), *([" or ".join(items)] if items else [])]
    named = " ".join(parts) or "something off the menu"
    return f"{wish.quantity} × {named}" + (f" ({', '.join(choices)})" if choices else "")


def _amount(amount: Amount) -> list[str]:
    return [] if amount is Amount.NORMAL else ["no" if amount is Amount.NONE else amount.value]
