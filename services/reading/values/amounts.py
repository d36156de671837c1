"""How much of an option and how many: the amounts and counts that are said beside it, and the numbers that
they take."""

from __future__ import annotations

from schemas.cart import MAX_COUNT, Amount
from schemas.evidence import OptionEvidence
from schemas.menu import Menu
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, covered, span
from services.reading.language.language import language_of
from services.reading.values.beside import amounts_beside
from services.reading.values.counting import led_to, of_one, opens_line, starting
from services.reading.values.lists import carry_on, refuse_lists

_NEAR_COUNT = 5  # "two extra pumps of the vanilla"


def options_heard(
    tokens: Utterance, here: list[Span], mentions: list[Span], numbers: list[Number], menu: Menu
) -> tuple[list[OptionEvidence], set[Number]]:
    """Each option mentioned `here`, with the amounts and counts said beside it, and the numbers that count
    an option rather than an item. What can be chosen once is not counted: "two toasted" are two lines."""
    once = menu.choose_one
    heard: dict[tuple[str, str], tuple[set[Amount], set[int]]] = {}
    counting: set[Number] = set()
    taken = covered(tokens, mentions)
    options = [m for m in here if m.kind == "option"]
    spoken = [amounts_beside(tokens, *span(tokens, m), taken) for m in options]
    refuse_lists(tokens, options, spoken)
    carry_on(tokens, options, spoken)
    for mention, amounts in zip(options, spoken, strict=True):
        first, end = span(tokens, mention)
        counts, counted_by = {1}, set[Number]()
        if not once.issuperset(mention.groups) or _plural(mention, menu):
            counts, counted_by = _counts(tokens, mentions, numbers, first, end, menu)
        counting |= counted_by
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
    ], counting


def _plural(mention: Span, menu: Menu) -> bool:
    """Whether an option was said in the plural, and has no such name: "two creams". Things of their own may
    be so many more ("and two cokes")."""
    said = mention.text.casefold()
    chosen = {*zip(mention.groups, mention.ids, strict=True)}
    names = {
        name.casefold()
        for group in menu.option_groups
        for option in group.options
        if (group.id, option.id) in chosen
        for name in (option.name, *option.aliases)
    }
    ones = {said.removesuffix(sign) for sign in language_of(menu).plural_signs} & names
    if said in names or not ones:
        return False
    items = {name.casefold() for item in menu.items for name in (item.name, *item.aliases)}
    return not ones & items


def _counts(
    tokens: Utterance, mentions: list[Span], numbers: list[Number], first: int, end: int, menu: Menu
) -> tuple[set[int], set[Number]]:
    """A number right before the option counts it, unless the option leads to its item: in "two oat
    lattes" it counts the item, and in "two ham and chicken pies"; "a two shot latte" is one."""
    near = [number for number in numbers if _stands_near(tokens, number, first)]
    leads = _leads_to_name(tokens, end, mentions)
    listed = bool(near) and led_to(tokens, first, starting(tokens, mentions)).of_its_item(menu)
    counting = {
        number
        for number in near
        if not (leads and not of_one(tokens, number.start, mentions))
        and not (listed and opens_line(tokens, number.start, mentions))
    }
    counts = {min(number.value, MAX_COUNT) for number in counting} or {1}
    if end < len(tokens) and tokens[end].folded in tokens.language.times:
        counts = {tokens.language.times[tokens[end].folded]}
    return counts, counting


def _stands_near(tokens: Utterance, number: Number, first: int) -> bool:
    """Whether only words that may stand between a number and an option do: "two pumps of the vanilla"."""
    between = tokens[number.end : first]
    if number.end > first or len(between) >= _NEAR_COUNT:
        return False
    paused = any(t.after for t in tokens[number.end - 1 : first])
    return not paused and all(t.folded in tokens.language.between_count_and_option for t in between)


def _leads_to_name(tokens: Utterance, end: int, mentions: list[Span]) -> bool:
    """Whether an item or a size follows an option: "oat lattes", "cans of coke"."""
    partitive = end + 1 < len(tokens) and tokens[end].folded in tokens.language.partitive
    after = end + 1 if partitive else end
    if after >= len(tokens) or tokens[end - 1].after:
        return False
    return any(m.kind in ("item", "size") and m.start == tokens[after].start for m in mentions)
