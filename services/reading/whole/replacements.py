"""What was said and is replaced by what follows: "two, no, three lattes", "sorry, make that a mocha"."""

from __future__ import annotations

from services.reading.chart.span import Span
from services.reading.whole.sheet import NotPlain, Sheet, exchangeable, groups, names


def supersede(sheet: Sheet, at: int) -> int | None:
    """Put what follows the words of replacing at `at` in the place of one thing of its kind before them; the
    position to go on from, None where there are no such words.

    Raises:
        NotPlain: there are, and leave open what is replaced.
    """
    end, strong = _cues(sheet, at)
    if end == at:
        return None
    if sheet.before(at) and sheet.phrase(end, sheet.language.giving_up) is not None:
        sheet.strike(at, end)  # "oh wait, not the slaw"
    elif not _follows_removal(sheet, at, end):
        _replace(sheet, at, end, strong=strong)
    return end


def _cues(sheet: Sheet, at: int) -> tuple[int, bool]:
    """Where a run of words of replacing ends, and whether they can only mean that."""
    tokens, language = sheet.tokens, sheet.language
    end, strong = at, False
    while (found := sheet.phrase(end, language.replacing)) is not None and not _refuses(sheet, end, found):
        words = " ".join(token.folded for token in tokens[end:found])
        strong = strong or words not in language.weak_cues
        end = found
        while end < len(tokens) and tokens[end].folded in language.between_cues:
            end += 1
    return end, strong


def _refuses(sheet: Sheet, at: int, end: int) -> bool:
    """Whether a cue is a mere "no" to what follows: "no foam" takes nothing back, "no, a mocha" does."""
    word = sheet.tokens[at]
    if end > at + 1 or word.folded not in sheet.language.refusing_or_replacing or word.after:
        return False
    return sheet.phrase(end, sheet.language.replacing) is None and not _begins_item(sheet, end)


def _begins_item(sheet: Sheet, at: int) -> bool:
    """Whether an article at `at` leads to an item; "no A1" is none."""
    tokens = sheet.tokens
    if at == len(tokens) or tokens[at].folded not in sheet.language.indefinite_articles:
        return False
    new = sheet.after(at)
    return new is not None and sheet.item_after(new) is not None


def _follows_removal(sheet: Sheet, at: int, end: int) -> bool:
    """ "Forget the bread, make it the sticks": they come for what has just gone, and for nothing else."""
    new = sheet.after(end) if at == sheet.gone_at else None
    if new is None or sheet.item_after(new) is None:
        return False
    sheet.strike(at, end)
    return True


def _replace(sheet: Sheet, at: int, end: int, *, strong: bool) -> None:
    new, before = sheet.after(end), sheet.before(at)
    if not before:
        return  # nothing to take back
    if new is None:
        if (not strong and _adds(sheet, end)) or not sheet.goes_on(end):
            return  # nothing in its place: small talk, or one thing more
        raise NotPlain
    sheet.strike(at, end)
    if sheet.phrase(new.past, sheet.language.instead_of) is not None:
        return  # "make it jalapeños instead of the onions": what goes is still to come
    item = sheet.item_after(new)
    old = next((v for v in reversed(before) if v.kind == "item"), None)
    adjacent = _is_adjacent(before, new, at)
    if item is not None and old is not None and names(old) & names(item):
        _name_again(sheet, before, old, new, item)
    elif item is not None and old is not None and not adjacent:
        _replace_item(sheet, before, old, new, item, strong=strong)
    else:
        _take_over(sheet, before, new, adjacent=adjacent)


def _adds(sheet: Sheet, at: int) -> bool:
    """Whether a word at `at` begins one thing more: "sorry, can I also get a muffin"."""
    return at < len(sheet.tokens) and sheet.tokens[at].folded in sheet.language.adding


def _is_adjacent(before: list[Span], new: Span, at: int) -> bool:
    """Whether the value that is taken back stands right before the correction ("two, no, three")."""
    last = before[-1]
    return new.kind != "item" and last.kind == new.kind and last.past == at


def _name_again(sheet: Sheet, before: list[Span], old: Span, new: Span, item: Span) -> None:
    """ "A small latte, no, a large latte" names the same line again."""
    sheet.lend(old, item)
    for part in [v for v in sheet.values if new.first <= v.first and v.past <= item.first]:
        _take_over(sheet, before, part)


def _replace_item(
    sheet: Sheet, before: list[Span], old: Span, new: Span, item: Span, *, strong: bool
) -> None:
    """Strike out an item for another, and of what was said with it what is said anew."""
    own = [v for v in before if sheet.clause(old)[0] <= v.first and v is not old]
    if not strong or any(v.kind in ("option", "item") for v in own):
        raise NotPlain
    sheet.strike(old.first, old.past)
    kinds = {v.kind for v in sheet.values if new.first <= v.first and v.past <= item.first}
    for value in own:
        if value.kind == "number" or value.kind in kinds:
            sheet.strike(value.first, value.past)


def _take_over(sheet: Sheet, before: list[Span], new: Span, *, adjacent: bool = False) -> None:
    """Put `new` in the place of the last value of its kind, if one belongs to the last item."""
    old = next((v for v in reversed(before) if _same_kind(sheet, v, new, adjacent=adjacent)), None)
    if old is None or sum(v.kind == "item" and v.first >= old.past for v in before) > 1:
        if new.kind == "number":
            raise NotPlain  # what it counts is before it, where no number was said
        return  # said for the first time: it stands where it is
    if new.kind == "option":
        # Its amount stands beside it, so it can't be read at another place; nor can the old one's stay.
        sheet.strike_amount(old)
        sheet.strike(old.first, old.past)
    else:
        sheet.lend(old, new)


def _same_kind(sheet: Sheet, old: Span, new: Span, *, adjacent: bool) -> bool:
    """Options are of one kind within a group: any of it right beside ("swiss, no, cheddar"), else one of
    which there can be one."""
    if not exchangeable(old, new) or adjacent or new.kind != "option":
        return exchangeable(old, new)
    return bool(groups(new) & groups(old) & sheet.single)
