"""Self-corrections: what a customer took back is struck out before anything is looked for.

"Two, no, three lattes" is read as "three lattes", "scratch the muffin" strikes out the muffin and all that
was said with it. Only plain cases are settled here: a word of taking back, what follows it, and one thing
before it of the same kind. Where any of them is not plain, nothing is struck out and the model decides, with
every value open to it, and the order is a doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance
from services.reading.names.lexicon import Lexicon
from services.reading.whole.denials import deny, prefer, swap
from services.reading.whole.removals import remove
from services.reading.whole.replacements import supersede
from services.reading.whole.sheet import NotPlain, Sheet


def strike_out(chart: Chart, _: Lexicon) -> Chart:
    """Strike out what the customer takes back, and put what corrects it in its place."""
    revised = revise(chart.words, list(chart.standing), chart.menu)
    if revised is None:
        return replace(chart, named=chart.standing, corrected=True)
    left, standing = revised
    return replace(chart, left=left, standing=tuple(standing), named=chart.standing)


def revise(tokens: Utterance, mentions: list[Span], menu: Menu) -> tuple[Utterance, list[Span]] | None:
    """Tokens and mentions without what was taken back; None where a correction is not plain."""
    sheet = Sheet(tokens, mentions, menu)
    try:
        at = 0
        while at < len(tokens):
            at = _settle(sheet, at)
    except NotPlain:
        return None
    return sheet.result()


def _settle(sheet: Sheet, at: int) -> int:
    """Settle the correction that begins at `at`, if one does; the position to go on from."""
    if at not in sheet.named:
        for correct in _CORRECTIONS:
            if (after := correct(sheet, at)) is not None:
                return after
    return at + 1


def _pass_instead(sheet: Sheet, at: int) -> int | None:
    """ "Scratch the lavender, put maple in it instead": what was taken back is struck out already."""
    after_removal = sheet.gone_at >= 0 and sheet.tokens[at].folded in sheet.language.in_its_place
    return at + 1 if after_removal and _closes(sheet, at) else None


def _closes(sheet: Sheet, at: int) -> bool:
    """Whether a clause ends with the word at `at`."""
    tokens = sheet.tokens
    last = at + 1 == len(tokens) or bool(tokens[at].after)
    return last or tokens[at + 1].folded in sheet.language.conjunctions


def _refuse_unread(sheet: Sheet, at: int) -> int | None:
    """Any other words of taking back are not plain, where there is something to take back."""
    if sheet.phrase(at, sheet.language.taking_back) is not None and sheet.before(at):
        raise NotPlain
    return None


# In this order; the first that settles words has settled them.
_CORRECTIONS: tuple[Callable[[Sheet, int], int | None], ...] = (
    swap,
    prefer,
    deny,
    remove,
    supersede,
    _pass_instead,
    _refuse_unread,
)
