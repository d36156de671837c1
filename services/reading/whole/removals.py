"""What was ordered and is taken back, with nothing in its place: "scratch the muffin", "no muffin"."""

from __future__ import annotations

from services.reading.chart.span import Span
from services.reading.chart.tokens import SENTENCE_ENDS
from services.reading.whole.sheet import NotPlain, Sheet, groups, names


def remove(sheet: Sheet, at: int) -> int | None:
    """Strike out what words at `at` take back, an item with all that was said with it; the position to go on
    from, None where they take nothing back.

    Raises:
        NotPlain: they do, and leave open what.
    """
    gone = _removed(sheet, at)
    if gone is None:
        return None
    earlier = sheet.earlier(gone, at)
    if earlier is None or gone.kind == "number":
        raise NotPlain
    sheet.strike(at, gone.past)
    start, end = _of_item(sheet, earlier, at) if earlier.kind == "item" else (earlier.first, earlier.past)
    sheet.strike(start, end)
    sheet.gone_at = gone.past
    return gone.past


def _of_item(sheet: Sheet, item: Span, at: int) -> tuple[int, int]:
    """The words that an item is ordered with before `at`, up to those of the next."""
    start, end = sheet.clause(item)
    items = [v for v in sheet.values if v.kind == "item"]
    if sum(start <= v.first < end for v in items) > 1:
        raise NotPlain
    until = sheet.next_clause(item, at)
    # "A burger meal and fries. Cancel the meal": are the fries its own?
    if any(until <= v.first < at and sheet.is_choice(v) for v in items):
        raise NotPlain
    return start, min(max(end, until), at)


def _removed(sheet: Sheet, at: int) -> Span | None:
    """What a word of removing at `at` is about; "scratch that, ..." replaces instead."""
    end = sheet.phrase(at, sheet.language.removing)
    if end is None:
        return _refused(sheet, at)
    that = sheet.phrase(at, sheet.language.replacing)
    replaces = that is not None and that > end and sheet.tokens[that - 1].after
    return None if replaces else sheet.after(end)


def _refused(sheet: Sheet, at: int) -> Span | None:
    """What "no muffin" takes back: an item ordered before, or an option of a sentence before."""
    if sheet.tokens[at].folded not in sheet.language.refusing or sheet.tokens[at].after:
        return None
    gone = sheet.after(at + 1)
    if gone is None:
        return None
    earlier = sheet.earlier(gone, at)
    if earlier is None:
        if sheet.item_after(gone) is not None:
            raise NotPlain  # "no coffee" may be "no, coffee"
        return None
    if gone.kind == "item":
        return gone
    if gone.kind != "option" or _is_of_another(sheet, gone, earlier, at):
        return None
    before = any(token.after in SENTENCE_ENDS for token in sheet.tokens[earlier.past - 1 : at])
    return gone if before else None


def _is_of_another(sheet: Sheet, option: Span, earlier: Span, at: int) -> bool:
    """Whether a refused option is said of an item that was named after the one that has it."""
    between = [v for v in sheet.before(at) if v.kind == "item" and v.first >= earlier.past]
    if not between:
        return False
    own = groups(option)
    if not all(own & sheet.offered.get(sku, set()) for _, sku in names(between[-1])):
        raise NotPlain
    return True
