"""Retrieve: transcript + menu -> evidence, the only values that this order's mask will open.

A value is opened where the transcript has words for it. An amount opens beside its option only, a count
or quantity only when a number was said, a size only where the word does not belong to another name.
`not_on_menu` is always open, so that nothing is forced.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_QUANTITY, Amount
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.menu import Menu
from services.pipeline.english import AMOUNT_FILLERS, AMOUNTS, CORRECTIONS, FILLERS, HOMOPHONES, NUMBERS
from services.pipeline.mentions import Lexicon, Token, tokenize

_NEAR = 3  # words before an option in which its amount or count is looked for
_LEXICONS: OrderedDict[tuple[str, int], tuple[Menu, Lexicon]] = OrderedDict()
_LEXICONS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Number:
    """A number that counts something: token positions [start, end) and its value. A `likely` one is no
    mere sound-alike ("to lattes")."""

    start: int
    end: int
    value: int
    likely: bool = True


def clean(transcript: str) -> str:
    """One line, single spaces, no control characters: what the prompt shows and `heard` copies from."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", " ", transcript).split())


def retrieve(transcript: str, menu: Menu, menu_version: int) -> Evidence:
    """Evidence of one transcript; pure, about 2 ms on a 40-item menu."""
    text = clean(transcript)
    tokens = tokenize(text)
    mentions = lexicon(menu, menu_version).find(text, tokens) if tokens else []
    taken = {i for m in mentions for i in _positions(tokens, m)}
    numbers = list(_numbers(tokens, taken, mentions))
    items = [m for m in mentions if m.kind == "item"]
    options = _options(tokens, mentions, numbers, taken)
    values = sorted({1, *(n.value for n in numbers if n.value <= MAX_QUANTITY)})
    places = len({(m.start, m.end) for m in items})
    sizes = [m for m in mentions if m.kind == "size"]
    corrected = CORRECTIONS.search(text) is not None
    said = [n for n in numbers if n.likely]
    # One item, said once, with nothing taken back or split: whatever was said, was said of it.
    single = places == 1 and len(said) <= 1 and len(sizes) <= 1 and not corrected
    if single:
        options = _required(options, mentions, menu)
    return Evidence(
        transcript=text,
        menu=menu,
        menu_version=menu_version,
        items=tuple(dict.fromkeys(ref for m in items for ref in m.ids)),
        sizes=tuple(dict.fromkeys(ref for m in sizes for ref in m.ids)),
        options=tuple(options),
        quantities=tuple(values),
        # One line a place that names an item, room for splits by size, and for a wish off the menu.
        max_lines=2 if single else min(MAX_LINES, places + len(sizes) + 2),
        mentions=tuple(mentions),
        numbers=tuple(n.value for n in said),
        size_required=single and len(sizes) == 1,
        corrected=corrected,
        unexplained=tuple(_unexplained(text, tokens, taken, numbers, menu)),
    )


def _required(options: list[OptionEvidence], mentions: list[Mention], menu: Menu) -> list[OptionEvidence]:
    """Options whose whole name was said, and said of nothing else in that place. Of two wishes for one
    choice ("oat milk or soy") neither is: the model may write one of them, or none."""
    sure = {(m.groups[0], m.ids[0]) for m in mentions if m.kind == "option" and m.strong and len(m.ids) == 1}
    one_of = {group.id for group in menu.option_groups if group.choose == "one"}
    wished = Counter(o.group for o in options if o.group in one_of and o.amounts != (Amount.NONE,))
    return [
        o.model_copy(update={"required": (o.group, o.id) in sure and wished[o.group] <= 1}) for o in options
    ]


def _unexplained(
    text: str, tokens: list[Token], taken: set[int], numbers: list[Number], menu: Menu
) -> Iterator[str]:
    """Words that are no name, number, amount, correction or filler: perhaps a wish that was misheard.
    Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    kinds = [item.category for item in menu.items] + [group.name for group in menu.option_groups]
    generic = {token.folded for kind in set(kinds) for token in tokenize(kind)}
    counted = {i for n in numbers for i in range(n.start, n.end)}
    for i, token in enumerate(tokens):
        word = token.folded
        spoken = text[token.start : token.end].casefold().replace("'", "").replace("’", "")
        known = word in AMOUNTS or {word, spoken} & FILLERS or word in _BETWEEN_COUNT or word in generic
        if i not in taken and i not in counted and not known and word not in NUMBERS:
            yield text[token.start : token.end]


def lexicon(menu: Menu, version: int) -> Lexicon:
    """The menu version's lexicon, built once; the last few are kept."""
    key = (menu.id, version)
    known = _LEXICONS.get(key)
    if known is None or (known[0] is not menu and known[0] != menu):
        known = (menu, Lexicon(menu))
        _LEXICONS[key] = known
        while len(_LEXICONS) > _LEXICONS_KEPT:
            _LEXICONS.popitem(last=False)
    return known[1]


def _positions(tokens: list[Token], mention: Mention) -> list[int]:
    return [i for i, t in enumerate(tokens) if mention.start <= t.start and t.end <= mention.end]


def _numbers(tokens: list[Token], taken: set[int], mentions: list[Mention]) -> list[Number]:
    """Numbers said outside names ("twelve ounce", "double shot" are names where the menu has them)."""
    starts = {m.start for m in mentions if m.strong}
    found: list[Number] = []
    i = 0
    while i < len(tokens):
        value = None if i in taken else _value(tokens[i].folded)
        if value is None:
            follows = tokens[i + 1].start if i + 1 < len(tokens) else -1
            if tokens[i].folded in HOMOPHONES and follows in starts and not tokens[i].after:
                found.append(Number(i, i + 1, HOMOPHONES[tokens[i].folded], likely=False))
            i += 1
            continue
        end = i + 1
        if end < len(tokens) and end not in taken and not tokens[i].after:
            follower = _value(tokens[end].folded)
            if follower is not None and 20 <= value <= 90 and value % 10 == 0 and follower < 10:
                value, end = value + follower, end + 1
            elif follower is not None and tokens[end].folded in ("dozen", "100") and value < 10:
                value, end = value * follower, end + 1
        if i > 0 and tokens[i].folded == "dozen" and _half_before(tokens, i):
            value = 6
        found.append(Number(i, end, value))
        i = end
    return found


def _value(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        value = int(word) if len(word) <= 6 else 0
        return value if 0 < value <= MAX_QUANTITY else None
    return NUMBERS.get(word)


def _half_before(tokens: list[Token], at: int) -> bool:
    return "half" in (tokens[at - 1].folded, tokens[at - 2].folded if at > 1 else "")


def _options(
    tokens: list[Token], mentions: list[Mention], numbers: list[Number], taken: set[int]
) -> list[OptionEvidence]:
    """Each option heard, with the amounts and counts said beside any of its mentions."""
    heard: dict[tuple[str, str], tuple[set[Amount], set[int]]] = {}
    negated_until = -1
    for mention in (m for m in mentions if m.kind == "option"):
        positions = _positions(tokens, mention)
        first, last = positions[0], positions[-1]
        amounts = _amounts(tokens, first, last, taken)
        if not amounts and negated_until == first:
            amounts = {Amount.NONE}  # "no cream or sugar"
        joined = last + 1 < len(tokens) and tokens[last + 1].folded in ("or", "nor")
        negated_until = last + 2 if joined and Amount.NONE in amounts else -1
        counts = _counts(tokens, mentions, numbers, first, last)
        for group, ref in zip(mention.groups, mention.ids, strict=True):
            known = heard.setdefault((group, ref), (set(), set()))
            known[0].update(amounts or {Amount.NORMAL})
            known[1].update(counts)
    order = list(Amount)
    return [
        OptionEvidence(
            group=group, id=ref, amounts=tuple(sorted(amounts, key=order.index)), counts=tuple(sorted(counts))
        )
        for (group, ref), (amounts, counts) in heard.items()
    ]


def _amounts(tokens: list[Token], first: int, last: int, taken: set[int]) -> set[Amount]:
    """Amount words right before the option, or right after it ("the sauce light"). Directly beside it an
    amount is meant; with a comma between ("no, oat milk") it may as well be something else."""
    for back in range(1, _NEAR + 1):
        at = first - back
        if at < 0 or at in taken:
            break
        word = tokens[at].folded
        if word in AMOUNTS:
            sure = not tokens[at].after
            # "a little bit of", "no more": the outer word decides when it negates.
            if at > 0 and tokens[at - 1].folded in AMOUNTS and at - 1 not in taken and sure:
                outer = AMOUNTS[tokens[at - 1].folded]
                return {outer if outer is Amount.NONE else AMOUNTS[word]}
            return {AMOUNTS[word]} if sure else {AMOUNTS[word], Amount.NORMAL}
        if word not in AMOUNT_FILLERS or tokens[at].after:
            break
    after = last + 1
    if after < len(tokens) and after not in taken and not tokens[last].after:
        word = tokens[after].folded
        followed = after + 1 < len(tokens) and after + 1 in taken and not tokens[after].after
        if word in ("light", "lightly", "extra", "heavy") and not followed:
            return {AMOUNTS[word], Amount.NORMAL}
    return set()


def _counts(
    tokens: list[Token], mentions: list[Mention], numbers: list[Number], first: int, last: int
) -> set[int]:
    """A number before the option may count it; one before an option that leads to its item ("two oat
    lattes") counts the item, unless it is one that counts parts ("double shot latte")."""
    counts = {1}
    leads = last + 1 < len(tokens) and any(
        m.kind == "item" and m.start == tokens[last + 1].start for m in mentions
    )
    for number in numbers:
        gap = [t.folded for t in tokens[number.end : first]]
        theirs = leads and tokens[number.start].folded not in _MULTIPLES
        if number.end <= first and len(gap) < _NEAR and not theirs and set(gap) <= _BETWEEN_COUNT:
            counts.add(min(number.value, MAX_COUNT))
    if last + 1 < len(tokens) and tokens[last + 1].folded in ("twice", "thrice"):
        counts.add(NUMBERS[tokens[last + 1].folded])
    return counts


_MULTIPLES = frozenset("single double triple".split())
_BETWEEN_COUNT = AMOUNT_FILLERS | frozenset(
    "pump shot scoop slice piece packet squirt extra more spoon".split()
)
