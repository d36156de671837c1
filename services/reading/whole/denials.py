"""What was said and is denied, or given up for something of its kind: "Swiss, not cheddar", "not the slaw,
sweet potato fries", "instead of the fries, a side salad".

Each is settled only where the two stand beside each other and are of one kind: sizes, items, or options of
one group.
"""

from __future__ import annotations

from services.reading.chart.tokens import SENTENCE_ENDS
from services.reading.whole.sheet import Sheet, Value


def deny(sheet: Sheet, at: int, end: int, single: frozenset[str]) -> int | None:
    """Settle the denial whose "not" stands at [at, end); where to go on from, None where it is not plain.
    Of the groups `single` only one option can be chosen."""
    gone = sheet.after(end)
    if gone is None or gone.kind not in ("option", "size"):
        return None
    earlier = sheet.earlier(gone, at)
    new = next((v for v in reversed(sheet.before(at)) if v.end == at), None)
    if new is not None and new.alike(gone) and not new.names() & gone.names():
        if earlier is None and not single.issuperset(gone.groups()):
            return None  # it may come with the item, though nobody said so
        sheet.strike(at, gone.end)
        if earlier is not None:
            _take_place(sheet, earlier, new)
        return gone.end
    return _in_its_place(sheet, at, gone, earlier)


def give_up(sheet: Sheet, at: int, gone: Value) -> int | None:
    """Settle "instead of the fries, a side salad", which begins at `at` after a pause."""
    if at == 0 or not sheet.tokens[at - 1].after:
        return None
    return _in_its_place(sheet, at, gone, sheet.earlier(gone, at))


def _in_its_place(sheet: Sheet, at: int, gone: Value, earlier: Value | None) -> int | None:
    """Put what follows, with nothing but little words between, in the place of what was said `earlier`."""
    if earlier is None or sheet.tokens[gone.end - 1].after == "?":
        return None
    i, fillers = gone.end, sheet.tokens.language.fillers
    while i < len(sheet.tokens) and i not in sheet.named and sheet.tokens[i].folded in fillers:
        if sheet.tokens[i].after in SENTENCE_ENDS:
            return None
        i += 1
    new = next((v for v in sheet.values if v.start == i and v.alike(gone)), None)
    if new is None or new.names() & gone.names():
        return None
    sheet.strike(at, new.start)
    _take_place(sheet, earlier, new)
    return new.end


def _take_place(sheet: Sheet, old: Value, new: Value) -> None:
    """`new` said where `old` was, whose amount goes with it."""
    sheet.strike_amount(old)
    sheet.lend(old, new)
