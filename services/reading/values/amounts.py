"""How much of an option and how many: the amounts and counts that are said beside it, and the numbers that
they take."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from schemas.cart import MAX_COUNT, Amount
from schemas.evidence import OptionEvidence
from schemas.menu import Menu
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, covered, span
from services.reading.language.language import language_of
from services.reading.values.counting import led_to, of_one, opens_line, starting
from services.reading.values.numbers import number_value

_REFUSING = 2  # words before a list in which what refuses all of it is looked for
_NEAR = 3  # words before an option in which its amount or count is looked for

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
    spoken = [_amounts(tokens, *span(tokens, m), taken) for m in options]
    _refuse_lists(tokens, options, spoken)
    _carry_on(tokens, options, spoken)
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


class _Joint(StrEnum):
    """What joins two names of a list."""

    OR = "or"
    AND = "and"
    PAUSE = "pause"


def _refuse_lists(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> None:
    """Carry a "no" over the list that it begins: "no cream, foam or sugar" refuses all three. Without an
    "or" what follows may be refused or wished for ("no lettuce, tomato"): both are left open. "Without
    lettuce and tomato" has neither, where the two are of one group."""
    for start, said in enumerate(amounts):
        if said != {Amount.NONE}:
            continue
        joints = _list(tokens, options[start:], amounts[start:])
        first = span(tokens, options[start])[0]
        all_of_it = any(
            t.folded in tokens.language.refusing_all for t in tokens[max(first - _REFUSING, 0) : first]
        )
        closing = {_Joint.OR, _Joint.AND} if all_of_it else {_Joint.OR}
        last = max((i for i, joint in enumerate(joints, 1) if joint in closing), default=0)
        for i in range(1, len(joints) + 1):
            alike = bool(set(options[start].groups) & set(options[start + i].groups))
            refused = _refused_as(within=i <= last, alike=alike, ended=_Joint.OR in joints[i - 1 :])
            if not refused:
                break
            amounts[start + i].update(refused)


def _list(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> list[_Joint]:
    """What joins the options of a list that begins with the first; none after it has an amount of its own."""
    joints: list[_Joint] = []
    for (before, after), its in zip(pairwise(options), amounts[1:], strict=True):
        joint = _joint(tokens, span(tokens, before)[1], span(tokens, after)[0])
        if joint is None or its:
            break
        joints.append(joint)
    return joints


def _refused_as(*, within: bool, alike: bool, ended: bool) -> set[Amount]:
    """What a "no" before a list makes of one of it: `within` the part that is surely refused, `alike` where
    it is of the first one's group, `ended` where an "or" comes at or after it. Empty: it ends before it."""
    if within and (alike or ended):
        return {Amount.NONE}
    return {Amount.NONE, Amount.NORMAL} if alike or within else set()


def _carry_on(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> None:
    """ "Heavy on the oil and vinegar" is of both, or of the oil alone."""
    for (one, said), (other, its) in pairwise(zip(options, amounts, strict=True)):
        first, end = span(tokens, one)
        joined = _joint(tokens, end, span(tokens, other)[0]) is _Joint.AND and not tokens[end - 1].after
        if joined and _heavy_on(tokens, first) and not its and set(one.groups) & set(other.groups):
            its.update(said | {Amount.NORMAL})


def _heavy_on(tokens: Utterance, first: int) -> bool:
    """Whether "heavy on the" stands before token `first`."""
    said = tokens.language
    at = first - 1 - (first > 0 and tokens[first - 1].folded in said.definite_articles)
    return at > 0 and tokens[at].folded in said.upon and tokens[at - 1].folded in said.amounts


def _joint(tokens: Utterance, end: int, first: int) -> _Joint | None:
    """What joins two names of a list, or a pause that a recogniser may have left out; None when they are no
    list."""
    if first < end:
        return None  # what is shared by all stands after what is a part's own
    said = tokens.language
    words = {token.folded for token in tokens[end:first]} - said.within_lists
    if words and words <= said.alternatives:
        return _Joint.OR
    if words and words <= said.coordinating:
        return _Joint.AND
    return _Joint.PAUSE if not words and tokens[end - 1].after in ("", ",") else None


def _amounts(tokens: Utterance, first: int, end: int, taken: set[int]) -> set[Amount]:
    """Amount words right before the option, or right after it ("the sauce light"). Directly beside it an
    amount is meant; with a comma between ("no, oat milk") it may as well be something else."""
    said = tokens.language
    for at in range(first - 1, max(first - _NEAR, 0) - 1, -1):
        word = tokens[at].folded
        if at in taken:
            break
        if word in said.further and _how_many_more(tokens, at, first, taken):
            return set()  # "an extra shot" is one shot, "two more shots" two, "extra foam" much of it
        if word in said.amounts:
            return _amount_at(tokens, at, taken)
        if word not in said.amount_fillers or tokens[at].after:
            break
    if _refused_after(tokens, end, taken):
        return {Amount.NONE}
    if _little_after(tokens, end, taken):
        return {Amount.LIGHT}
    return _amount_after(tokens, end, taken)


def _amount_at(tokens: Utterance, at: int, taken: set[int]) -> set[Amount]:
    """What the amount word at `at` says of the option after it."""
    said, word, sure = tokens.language, tokens[at].folded, not tokens[at].after
    if word in said.much:
        negated = any(t.folded in said.negations for t in tokens[max(at - 2, 0) : at])
        return {Amount.LIGHT if negated else Amount.EXTRA}
    # "A little bit of", "no more": the outer word decides when it negates.
    if sure and at > 0 and at - 1 not in taken and tokens[at - 1].folded in said.amounts:
        outer = said.amounts[tokens[at - 1].folded]
        return {outer if outer is Amount.NONE else said.amounts[word]}
    return {said.amounts[word]} if sure else {said.amounts[word], Amount.NORMAL}


def _amount_after(tokens: Utterance, end: int, taken: set[int]) -> set[Amount]:
    """ "The sauce light": an amount right after the option, which no name follows that it may belong to."""
    if end >= len(tokens) or end in taken or tokens[end - 1].after:
        return set()
    word = tokens[end].folded
    followed = end + 1 < len(tokens) and end + 1 in taken and not tokens[end].after
    after = word in tokens.language.amounts_after and not followed
    return {tokens.language.amounts[word], Amount.NORMAL} if after else set()


def _how_many_more(tokens: Utterance, at: int, first: int, taken: set[int]) -> bool:
    """Whether an article or a number before "extra" counts the option that begins at token `first`."""
    said = tokens.language
    by = at - 1 - (at > 1 and tokens[at - 1].folded in said.partitive)  # "a couple of extra shots"
    if by < 0 or by in taken or tokens[by].after:
        return False
    word = tokens[by].folded
    value = 1 if word in said.indefinite_articles else number_value(word, said)
    # "The medium one extra hot".
    pronoun = value == 1 and by - 1 in taken and not tokens[by - 1].after
    return value is not None and (not pronoun or tokens[first].folded in said.measures)


def _little_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Vanilla, just a touch"; "a touch of cinnamon" is of what follows."""
    if tokens[end - 1].after not in ("", ","):
        return False
    said = tokens.language
    at = end + (end < len(tokens) and tokens[end].folded in said.only)
    words = [t.folded for t in tokens[at : at + 2]]
    if (
        not words
        or words[0] not in said.indefinite_articles
        or said.amounts.get(words[-1]) is not Amount.LIGHT
    ):
        return False
    if taken & {at, at + 1}:
        return False
    closes = at + 2 == len(tokens) or bool(tokens[at + 1].after)
    return closes or tokens[at + 2].folded in said.conjunctions | said.closing


def _refused_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Ham off", "whip no thank you", "foam please no": a refusal that nothing follows which it could lead
    to."""
    said = tokens.language
    if end >= len(tokens) or end in taken or tokens[end - 1].after not in ("", ","):
        return False
    if tokens[end - 1].after and tokens[end].folded not in said.taken_off:
        return False
    at = end + (tokens[end].folded in said.please)
    if at >= len(tokens) or at in taken:
        return False
    if tokens[at].folded in said.taken_off:
        return _closes(tokens, at) or at + 1 in taken
    return tokens[at].folded in said.refusals and _closes(tokens, at) and not tokens[at].after


def _closes(tokens: Utterance, at: int) -> bool:
    """Whether what was said ends with the token at `at`: "garlic no sorry honey" takes the garlic back."""
    if at + 2 < len(tokens) and tokens[at + 1].folded in tokens.language.apologies:
        return bool(tokens[at + 1].after)
    ended = at + 1 == len(tokens) or bool(tokens[at].after)
    return ended or tokens[at + 1].folded in tokens.language.closing


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
