"""What was said and is denied, or given up for something of its kind: "Swiss, not cheddar", "not the slaw,
sweet potato fries", "swap the fries for a side salad", "onion rings instead of fries".

Each is settled only where the two stand beside each other and are of one kind: sizes, items, or options of
one group. A rule gets the sheet and the position where the correction may begin, and tells the position to go
on from; None where it begins otherwise. It raises `NotPlain` where only the whole sentence can tell.
"""

from __future__ import annotations

from services.reading.chart.span import Span
from services.reading.chart.tokens import SENTENCE_ENDS
from services.reading.whole.sheet import NotPlain, Sheet, exchangeable, groups, names


def deny(sheet: Sheet, at: int) -> int | None:
    """ "Swiss, not cheddar"; a "don't" or "isn't" leaves open what is denied."""
    end = sheet.phrase(at, sheet.language.negating)
    if end is None or not sheet.values:
        return None
    if sheet.tokens[at].folded not in sheet.language.denying:
        raise NotPlain
    gone = sheet.after(end)
    if gone is None or gone.kind not in ("option", "size"):
        raise NotPlain
    new = next((v for v in reversed(sheet.before(at)) if v.past == at), None)
    if new is None or not exchangeable(new, gone) or names(new) & names(gone):
        after = _exchange(sheet, at, gone)
        if after is None:
            raise NotPlain
        return after
    earlier = sheet.earlier(gone, at)
    if earlier is None and not sheet.single.issuperset(groups(gone)):
        raise NotPlain  # it may come with the item, though nobody said so
    sheet.strike(at, gone.past)
    if earlier is not None:
        _take_place(sheet, earlier, new)
    return gone.past


def swap(sheet: Sheet, at: int) -> int | None:
    """ "Swap the whole milk for skim"."""
    end = sheet.phrase(at, sheet.language.swapping)
    if end is None:
        return None
    old = sheet.after(end)
    joint = None if old is None else sheet.phrase(old.past, sheet.language.swaps_for)
    new = None if joint is None else sheet.after(joint)
    if old is None or new is None or old.kind != new.kind:
        raise NotPlain
    earlier = sheet.earlier(old, at)
    if earlier is None:
        raise NotPlain
    sheet.strike(at, new.first)
    sheet.lend(earlier, new)
    return new.past


def prefer(sheet: Sheet, at: int) -> int | None:
    """ "Oat milk instead of whole", "instead of the fries, a side salad": what is named after these words was
    never wished for, or no longer is."""
    end = sheet.phrase(at, sheet.language.instead_of)
    if end is None:
        return None
    gone, before = sheet.after(end), sheet.before(at)
    if gone is None:
        raise NotPlain
    begins = at > 0 and bool(sheet.tokens[at - 1].after)
    if begins and (after := _exchange(sheet, at, gone)) is not None:
        return after
    if not before or not exchangeable(before[-1], gone):
        raise NotPlain
    sheet.strike(at, gone.past)
    earlier = sheet.earlier(gone, at)
    if earlier is None and any(group not in sheet.single for group, _ in names(gone)):
        raise NotPlain  # "with bacon instead of ham": a Hawaiian comes with ham, though nobody said so
    if earlier is not None:
        sheet.lend(earlier, before[-1])
    return gone.past


def _exchange(sheet: Sheet, at: int, gone: Span) -> int | None:
    """Put what follows `gone`, with nothing but little words between, in the place where it was said before;
    where to go on from, None where there is no such thing. The words of giving it up begin at `at`."""
    earlier = sheet.earlier(gone, at)
    if earlier is None or sheet.tokens[gone.past - 1].after == "?":
        return None
    i, fillers = gone.past, sheet.language.fillers
    while i < len(sheet.tokens) and i not in sheet.named and sheet.tokens[i].folded in fillers:
        if sheet.tokens[i].after in SENTENCE_ENDS:
            return None
        i += 1
    new = next((v for v in sheet.values if v.first == i and exchangeable(v, gone)), None)
    if new is None or names(new) & names(gone):
        return None
    sheet.strike(at, new.first)
    _take_place(sheet, earlier, new)
    return new.past


def _take_place(sheet: Sheet, old: Span, new: Span) -> None:
    """`new` said where `old` was, whose amount goes with it."""
    sheet.strike_amount(old)
    sheet.lend(old, new)
