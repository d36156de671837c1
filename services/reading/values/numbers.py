"""Numbers: which words count something, and whether an item or the pieces that it is sold by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemas.cart import MAX_QUANTITY
from schemas.menu import Item, Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import EXACT, Named, Number, Span
from services.reading.chart.tokens import Utterance, covered, folded, span
from services.reading.language.language import Language, language_of

_TENS = range(20, 100, 10)


def count_numbers(chart: Chart, _: object) -> Chart:
    """Find the numbers outside names among the words that are left: each may count something."""
    tokens, names = chart.left, list(chart.standing)
    return replace(chart, numbers=tuple(find_numbers(tokens, covered(tokens, names), names, chart.menu)))


def take_as_pieces(chart: Chart, _: object) -> Chart:
    """Take a number as a size or a choice, where it is that of what follows: "ten wings" is one ten piece."""
    left, found = pieces(chart.left, list(chart.numbers), list(chart.standing), chart.menu)
    packs = [replace(pack, core=tuple(range(*span(chart.words, pack)))) for pack in found]
    standing = sorted([*chart.standing, *packs], key=lambda m: (m.start, m.end))
    return replace(chart.standing_so(standing, packs), numbers=tuple(left))


def find_numbers(tokens: Utterance, taken: set[int], mentions: list[Span], menu: Menu) -> Iterator[Number]:
    """Numbers said outside names ("twelve ounce", "double shot" are names where the menu has them)."""
    starts = {m.start for m in mentions if m.strong}
    i = 0
    while i < len(tokens):
        value = None if i in taken else number_value(tokens[i].folded, tokens.language)
        if value is None:
            if (misheard := _misheard(tokens, i, starts, mentions, menu)) is not None:
                yield misheard
            i += 1
        elif names_something(tokens, i):
            i += 1
        else:
            number = _whole_number(tokens, i, value, taken)
            yield number
            i = number.end


def _misheard(
    tokens: Utterance, at: int, starts: set[int], mentions: list[Span], menu: Menu
) -> Number | None:
    """The number that the word at `at` only sounds like, right before a name: "to lattes"."""
    homophones, token = tokens.language.homophones, tokens[at]
    if token.folded not in homophones or token.after or at + 1 == len(tokens):
        return None
    after = tokens[at + 1]
    if after.start not in starts or number_value(after.folded, tokens.language) is not None:
        return None
    wanting = at > 0 and tokens[at - 1].folded in tokens.language.wanting and not _asking(tokens, at)
    plural = _leads_to_plural(at + 1, tokens, mentions, menu)
    if wanting and not plural:
        return None
    return Number(at, at + 1, homophones[token.folded], likely=plural and not wanting)


def _whole_number(tokens: Utterance, at: int, value: int, taken: set[int]) -> Number:
    """The number that begins at `at` with a word of that value: "twenty one", "two dozen", "half a dozen"."""
    said, start, end = tokens.language, at, at + 1
    if end < len(tokens) and end not in taken and not tokens[at].after:
        follower = number_value(tokens[end].folded, said)
        if follower is not None and value in _TENS and follower < 10:
            value, end = value + follower, end + 1
        elif follower is not None and tokens[end].folded in said.multipliers and value < 10:
            value, end = value * follower, end + 1
    if tokens[at].folded in said.halved and (half := _half_before(tokens, at)) is not None:
        start, value = half, said.halved[tokens[at].folded]
    # "Double bacon cheeseburger": two of them, or a bigger one?
    return Number(start, end, value, likely=tokens[start].folded not in said.multiples)


def pieces(
    tokens: Utterance, numbers: list[Number], mentions: list[Span], menu: Menu
) -> tuple[list[Number], list[Span]]:
    """Numbers that are left, and those that are a size or a choice of the item after: "ten wings" is one
    ten piece."""
    left: list[Number] = []
    found: list[Span] = []
    choices = _choices(tokens, mentions)
    for number in numbers:
        at = number.end
        while at in choices and not tokens[choices[at] - 1].after:
            at = choices[at]  # "twelve plain wings"
        following = tokens[at].start if at < len(tokens) else -1
        skus = {sku for m in mentions if m.kind == "item" and m.start == following for sku in m.ids}
        fits = list(_fitting(number, [item for item in menu.items if item.sku in skus], menu))
        if len(fits) == 1:
            start, end = tokens[number.start].start, tokens[number.end - 1].end
            core = tuple(range(number.start, number.end))
            things = tuple(m for m in mentions if m.kind == "item" and m.start == following)
            found.append(replace(fits[0], core=core, start=start, end=end, on=things))
        else:
            left.append(number)
    return left, found


def _choices(tokens: Utterance, mentions: list[Span]) -> dict[int, int]:
    """Where options that are no item begin and end."""
    items = {m.start for m in mentions if m.kind == "item"}
    spans = [span(tokens, m) for m in mentions if m.kind == "option"]
    return {first: end for first, end in spans if tokens[first].start not in items}


def _fitting(number: Number, offered: list[Item], menu: Menu) -> Iterator[Span]:
    """The sizes, and the options of which one is chosen, of these items that are so many pieces."""
    language = language_of(menu)
    sizes = {size for item in offered for size in item.size_ids}
    groups = {group for item in offered for group in item.option_groups} & menu.choose_one
    named = Span("size", (), (), (), 0, 0, str(number.value), EXACT, "so_many_pieces")
    for size in menu.sizes:
        if size.id in sizes and _of(number, size.name, language):
            yield replace(named, ids=(size.id,))
    for group in menu.option_groups:
        for option in group.options if group.id in groups else ():
            if _of(number, option.name, language):
                yield replace(named, kind="option", ids=(option.id,), groups=(group.id,))


def _of(number: Number, name: str, language: Language) -> bool:
    """Whether a name is that of so many pieces; "one tuna" is one of it."""
    words = folded(name, language)
    return number.value > 1 and words[:1] == (str(number.value),) and bool(language.pieces & set(words))


def is_plural(mention: Named, menu: Menu) -> bool:
    """Whether an item was named in the plural, and has no such name ("lattes", not "fries")."""
    language = language_of(menu)
    shown = language.plural_word.search(" ".join(_plain_words(mention.text)))
    if shown is None or not shown[0].endswith(language.plural_signs):
        return False
    items = [item for item in menu.items if item.sku in mention.ids]
    names = [_plain_words(name) for item in items for name in (item.name, *item.aliases)]
    return not any(shown[0] in (name[0], name[-1]) for name in names)


def _plain_words(text: str) -> list[str]:
    """As written, so with their plurals; a hyphen is a space ("Sour-Drops")."""
    return text.casefold().replace("'", "").replace("-", " ").split()


def _leads_to_plural(at: int, tokens: Utterance, mentions: list[Span], menu: Menu) -> bool:
    """Whether the names from token `at` on lead to an item in the plural: "to large lattes" are two."""
    while at < len(tokens):
        here = [m for m in mentions if m.start == tokens[at].start]
        item = next((m for m in here if m.kind == "item"), None)
        if item is not None or not here:
            return item is not None and is_plural(item, menu)
        at = span(tokens, here[0])[1]
    return False


def _asking(tokens: Utterance, at: int) -> bool:
    """ "Can I have to bagels" asks for two; "I have to" does not."""
    if at < 3:
        return False
    verb, person, wish = (token.folded for token in tokens[at - 3 : at])
    said = tokens.language
    return verb in said.verbs.values() and person in said.persons and wish in said.having


def names_something(tokens: Utterance, at: int) -> bool:
    """Whether the number at `at` is the name of something: "number twelve"."""
    return at > 0 and tokens[at - 1].folded in tokens.language.naming and not tokens[at - 1].after


def number_value(word: str, language: Language) -> int | None:
    """What a folded word counts; None when it is no number."""
    if word.isascii() and word.isdigit():
        value = int(word) if len(word) <= 6 else 0
        return value if 0 < value <= MAX_QUANTITY else None
    return language.numbers.get(word)


def _half_before(tokens: Utterance, at: int) -> int | None:
    """Where "half" of "half a dozen" stands."""
    return next((i for i in (at - 1, at - 2) if i >= 0 and tokens[i].folded in tokens.language.halves), None)
