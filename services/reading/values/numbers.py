"""Numbers: which words count something, and whether an item or the pieces that it is sold by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.cart import MAX_QUANTITY
from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import Token, Utterance, folded, span
from services.reading.language.english import (
    HOMOPHONES,
    NAMING,
    NUMBERS,
    PERSONS,
    PIECES,
    WANTING,
)
from services.reading.language.language import Language

# These count parts of an item even right before it ("double shot latte").
MULTIPLES = frozenset("single double triple".split())


@dataclass(frozen=True, slots=True)
class Number:
    """A number that counts something: token positions [start, end) and its value. A `likely` one is no
    mere sound-alike ("to lattes")."""

    start: int
    end: int
    value: int
    likely: bool = True


def find_numbers(tokens: Utterance, taken: set[int], mentions: list[Mention], menu: Menu) -> Iterator[Number]:
    """Numbers said outside names ("twelve ounce", "double shot" are names where the menu has them)."""
    starts = {m.start for m in mentions if m.strong}
    i = 0
    while i < len(tokens):
        value = None if i in taken else number_value(tokens[i].folded)
        if value is not None and names_something(tokens, i):
            i += 1
            continue
        if value is None:
            follows = tokens[i + 1].start if i + 1 < len(tokens) else -1
            wanting = i > 0 and tokens[i - 1].folded in WANTING and not _asking(tokens[max(i - 3, 0) : i])
            counted = i + 1 < len(tokens) and number_value(tokens[i + 1].folded) is not None
            if tokens[i].folded in HOMOPHONES and follows in starts and not tokens[i].after and not counted:
                plural = _leads_to_plural(i + 1, tokens, mentions, menu)
                if plural or not wanting:
                    yield Number(i, i + 1, HOMOPHONES[tokens[i].folded], likely=plural and not wanting)
            i += 1
            continue
        end = i + 1
        if end < len(tokens) and end not in taken and not tokens[i].after:
            follower = number_value(tokens[end].folded)
            if follower is not None and 20 <= value <= 90 and value % 10 == 0 and follower < 10:
                value, end = value + follower, end + 1
            elif follower is not None and tokens[end].folded in ("dozen", "100") and value < 10:
                value, end = value * follower, end + 1
        start = i
        if tokens[i].folded == "dozen" and (half := _half_before(tokens, i)) is not None:
            start, value = half, 6
        # "Double bacon cheeseburger": two of them, or a bigger one?
        yield Number(start, end, value, likely=tokens[start].folded not in MULTIPLES)
        i = end


def pieces(
    tokens: Utterance, numbers: list[Number], mentions: list[Mention], menu: Menu
) -> tuple[list[Number], list[Mention]]:
    """Numbers that are left, and those that are a size or a choice of the item after: "ten wings" is one
    ten piece."""
    left: list[Number] = []
    found: list[Mention] = []
    spans = [span(tokens, m) for m in mentions if m.kind == "option"]
    choices = {
        first: end
        for first, end in spans
        if not any(i.kind == "item" and i.start == tokens[first].start for i in mentions)
    }
    for number in numbers:
        at = number.end
        while at in choices and not tokens[choices[at] - 1].after:
            at = choices[at]  # "twelve plain wings"
        following = tokens[at].start if at < len(tokens) else -1
        skus = {sku for m in mentions if m.kind == "item" and m.start == following for sku in m.ids}
        offered = [item for item in menu.items if item.sku in skus]
        sizes = {size for item in offered for size in item.size_ids}
        groups = {group for item in offered for group in item.option_groups} & menu.choose_one
        fits = [
            ("size", "", size.id)
            for size in menu.sizes
            if size.id in sizes and _of(number, size.name, tokens.language)
        ]
        fits += [
            ("option", group.id, option.id)
            for group in menu.option_groups
            if group.id in groups
            for option in group.options
            if _of(number, option.name, tokens.language)
        ]
        if len(fits) == 1:
            kind, group_id, ref = fits[0]
            start, end = tokens[number.start].start, tokens[number.end - 1].end
            found.append(
                Mention(
                    kind=kind,
                    ids=(ref,),
                    groups=(group_id,) if group_id else (),
                    start=start,
                    end=end,
                    text=str(number.value),
                    score=1,
                    strong=True,
                )
            )
        else:
            left.append(number)
    return left, found


def _of(number: Number, name: str, language: Language) -> bool:
    """Whether a name is that of so many pieces; "one tuna" is one of it."""
    words = folded(name, language)
    return number.value > 1 and words[:1] == (str(number.value),) and bool(PIECES & set(words))


def is_plural(mention: Mention, menu: Menu) -> bool:
    """Whether an item was named in the plural, and has no such name ("lattes", not "fries")."""
    last = _plain_words(mention.text)[-1]
    items = [item for item in menu.items if item.sku in mention.ids]
    names = [_plain_words(name) for item in items for name in (item.name, *item.aliases)]
    return last.endswith("s") and not any(last in (name[0], name[-1]) for name in names)


def _plain_words(text: str) -> list[str]:
    """As written, so with their plurals; a hyphen is a space ("Sour-Drops")."""
    return text.casefold().replace("'", "").replace("-", " ").split()


def _leads_to_plural(at: int, tokens: Utterance, mentions: list[Mention], menu: Menu) -> bool:
    """Whether the names from token `at` on lead to an item in the plural: "to large lattes" are two."""
    while at < len(tokens):
        here = [m for m in mentions if m.start == tokens[at].start]
        item = next((m for m in here if m.kind == "item"), None)
        if item is not None or not here:
            return item is not None and is_plural(item, menu)
        at = span(tokens, here[0])[1]
    return False


def _asking(before: list[Token]) -> bool:
    """ "Can I have to bagels" asks for two; "I have to" does not."""
    could, person, have = [token.folded for token in before] if len(before) == 3 else ("", "", "")
    return could == "could" and person in PERSONS and have in ("have", "get", "order")


def names_something(tokens: Utterance, at: int) -> bool:
    """Whether the number at `at` is the name of something: "number twelve"."""
    return at > 0 and tokens[at - 1].folded in NAMING and not tokens[at - 1].after


def number_value(word: str) -> int | None:
    """What a folded word counts; None when it is no number."""
    if word.isascii() and word.isdigit():
        value = int(word) if len(word) <= 6 else 0
        return value if 0 < value <= MAX_QUANTITY else None
    return NUMBERS.get(word)


def _half_before(tokens: Utterance, at: int) -> int | None:
    """Where "half" of "half a dozen" stands."""
    return next((i for i in (at - 1, at - 2) if i >= 0 and tokens[i].folded == "half"), None)
