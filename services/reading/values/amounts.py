"""How much of an option and how many: the amounts and counts that are said beside it, and the numbers that
they take."""

from __future__ import annotations

from itertools import pairwise

from schemas.cart import MAX_COUNT, Amount
from schemas.evidence import Mention, OptionEvidence
from schemas.menu import Menu
from services.reading.chart.tokens import Utterance, covered, span
from services.reading.language.english import (
    AMOUNT_FILLERS,
    AMOUNTS,
    AND,
    FURTHER,
    MEASURES,
    NUMBERS,
    REFUSING_ALL,
)
from services.reading.values.counting import led_to, of_one, opens_line, starting
from services.reading.values.numbers import Number, number_value

_NEAR = 3  # words before an option in which its amount or count is looked for

BETWEEN_COUNT = AMOUNT_FILLERS | MEASURES | FURTHER
_NEAR_COUNT = 5  # "two extra pumps of the vanilla"

# After "no" these close what was said.
_CLOSING = frozenset("thank thanks please and plus but sorry".split())


def options_heard(
    tokens: Utterance, here: list[Mention], mentions: list[Mention], numbers: list[Number], menu: Menu
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


def _plural(mention: Mention, menu: Menu) -> bool:
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
    one = said.removesuffix("s")
    if said in names or one not in names:
        return False
    return not any(one == name.casefold() for item in menu.items for name in (item.name, *item.aliases))


def _refuse_lists(tokens: Utterance, options: list[Mention], amounts: list[set[Amount]]) -> None:
    """Carry a "no" over the list that it begins: "no cream, foam or sugar" refuses all three. Without an
    "or" what follows may be refused or wished for ("no lettuce, tomato"): both are left open. "Without
    lettuce and tomato" has neither, where the two are
    of one group."""
    for start, said in enumerate(amounts):
        if said != {Amount.NONE}:
            continue
        joints = [""]
        for before, after in pairwise(options[start:]):
            joint = _joint(tokens, span(tokens, before)[1], span(tokens, after)[0])
            if joint is None or amounts[start + len(joints)]:
                break
            joints.append(joint)
        first = span(tokens, options[start])[0]
        all_of_it = any(t.folded in REFUSING_ALL for t in tokens[max(first - 2, 0) : first])
        closing = ("or", "and") if all_of_it else ("or",)
        last = max((i for i, joint in enumerate(joints) if joint in closing), default=0)
        for i in range(1, len(joints)):
            alike = set(options[start].groups) & set(options[start + i].groups)
            if i <= last and (alike or "or" in joints[i:]):
                amounts[start + i].add(Amount.NONE)
            elif alike or i <= last:
                amounts[start + i].update({Amount.NONE, Amount.NORMAL})
            else:
                break


def _carry_on(tokens: Utterance, options: list[Mention], amounts: list[set[Amount]]) -> None:
    """ "Heavy on the oil and vinegar" is of both, or of the oil alone."""
    for (one, said), (other, its) in pairwise(zip(options, amounts, strict=True)):
        first, end = span(tokens, one)
        at = first - 1 - (first > 0 and tokens[first - 1].folded == "the")
        on = at > 0 and tokens[at].folded == "on" and tokens[at - 1].folded in AMOUNTS
        joined = _joint(tokens, end, span(tokens, other)[0]) == "and" and not tokens[end - 1].after
        if on and joined and not its and set(one.groups) & set(other.groups):
            its.update(said | {Amount.NORMAL})


def _joint(tokens: Utterance, end: int, first: int) -> str | None:
    """What joins two names of a list: "or", "and", or "," for a pause that a recogniser may have left out;
    None when they are no list."""
    if first < end:
        return None  # what is shared by all stands after what is a part's own
    words = {token.folded for token in tokens[end:first]} - {"the", "any"}
    if words <= {"or", "nor"} and words:
        return "or"
    if words == {"and"}:
        return "and"
    return "," if not words and tokens[end - 1].after in ("", ",") else None


def _amounts(tokens: Utterance, first: int, end: int, taken: set[int]) -> set[Amount]:
    """Amount words right before the option, or right after it ("the sauce light"). Directly beside it an
    amount is meant; with a comma between ("no, oat milk") it may as well be something else."""
    for back in range(1, _NEAR + 1):
        at = first - back
        if at < 0 or at in taken:
            break
        word = tokens[at].folded
        if word in FURTHER and _how_many_more(tokens, at, first, taken):
            return set()  # "an extra shot" is one shot, "two more shots" two, "extra foam" much of it
        if word in AMOUNTS:
            sure = not tokens[at].after
            if word == "much":
                return {
                    Amount.LIGHT if "not" in (t.folded for t in tokens[max(at - 2, 0) : at]) else Amount.EXTRA
                }
            # "a little bit of", "no more": the outer word decides when it negates.
            if at > 0 and tokens[at - 1].folded in AMOUNTS and at - 1 not in taken and sure:
                outer = AMOUNTS[tokens[at - 1].folded]
                return {outer if outer is Amount.NONE else AMOUNTS[word]}
            return {AMOUNTS[word]} if sure else {AMOUNTS[word], Amount.NORMAL}
        if word not in AMOUNT_FILLERS or tokens[at].after:
            break
    if _refused_after(tokens, end, taken):
        return {Amount.NONE}
    if _little_after(tokens, end, taken):
        return {Amount.LIGHT}
    if end < len(tokens) and end not in taken and not tokens[end - 1].after:
        word = tokens[end].folded
        followed = end + 1 < len(tokens) and end + 1 in taken and not tokens[end].after
        if word in ("light", "lightly", "extra", "heavy") and not followed:
            return {AMOUNTS[word], Amount.NORMAL}
    return set()


def _how_many_more(tokens: Utterance, at: int, first: int, taken: set[int]) -> bool:
    """Whether an article or a number before "extra" counts the option that begins at token `first`."""
    by = at - 1 - (at > 1 and tokens[at - 1].folded == "of")  # "a couple of extra shots"
    if by < 0 or by in taken or tokens[by].after:
        return False
    value = 1 if tokens[by].folded in ("a", "an") else number_value(tokens[by].folded)
    # "The medium one extra hot".
    pronoun = value == 1 and by - 1 in taken and not tokens[by - 1].after
    return value is not None and (not pronoun or tokens[first].folded in MEASURES)


def _little_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Vanilla, just a touch"; "a touch of cinnamon" is of what follows."""
    if tokens[end - 1].after not in ("", ","):
        return False
    at = end + (end < len(tokens) and tokens[end].folded in ("just", "only"))
    words = [t.folded for t in tokens[at : at + 2]]
    if words[:1] != ["a"] or AMOUNTS.get(words[-1]) is not Amount.LIGHT or taken & {at, at + 1}:
        return False
    closes = at + 2 == len(tokens) or bool(tokens[at + 1].after)
    return closes or tokens[at + 2].folded in AND | _CLOSING


def _refused_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Ham off", "whip no thank you", "foam please no": a refusal that nothing follows which it could lead
    to."""
    if end >= len(tokens) or end in taken or tokens[end - 1].after not in ("", ","):
        return False
    if tokens[end - 1].after and tokens[end].folded != "off":
        return False
    at = end + (tokens[end].folded == "please")
    if at >= len(tokens) or at in taken:
        return False
    closes = at + 1 == len(tokens) or bool(tokens[at].after) or tokens[at + 1].folded in _CLOSING
    if [t.folded for t in tokens[at + 1 : at + 2]] == ["sorry"] and at + 2 < len(tokens):
        closes = bool(tokens[at + 1].after)  # "garlic no sorry honey" takes the garlic back
    if tokens[at].folded == "off":
        return closes or at + 1 in taken
    return tokens[at].folded == "no" and closes and not tokens[at].after


def _counts(
    tokens: Utterance, mentions: list[Mention], numbers: list[Number], first: int, end: int, menu: Menu
) -> tuple[set[int], set[Number]]:
    """A number right before the option counts it, unless the option leads to its item: in "two oat
    lattes" it counts the item, and in "two ham and chicken pies"; "a two shot latte" is one."""
    # "two oat lattes", "three cans of coke"
    next_name = end + 1 if end < len(tokens) and tokens[end].folded == "of" else end
    leads = (
        next_name < len(tokens)
        and not tokens[end - 1].after
        and any(m.kind in ("item", "size") and m.start == tokens[next_name].start for m in mentions)
    )
    near = [
        number
        for number in numbers
        if number.end <= first
        and first - number.end < _NEAR_COUNT
        and {t.folded for t in tokens[number.end : first]} <= BETWEEN_COUNT - {"with"}
        and not any(t.after for t in tokens[number.end - 1 : first])
    ]
    listed = bool(near) and led_to(tokens, first, starting(tokens, mentions)).of_its_item(menu)
    counting = {
        number
        for number in near
        if not (leads and not of_one(tokens, number.start, mentions))
        and not (listed and opens_line(tokens, number.start, mentions))
    }
    counts = {min(number.value, MAX_COUNT) for number in counting} or {1}
    if end < len(tokens) and tokens[end].folded in ("twice", "thrice"):
        counts = {NUMBERS[tokens[end].folded]}
    return counts, counting
