"""The "Why?" panel of a review: how the words were understood, what was chosen over what, and what each line
rests on, in words for staff. Computed when opened, from what the order kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas import wording
from schemas.cart import Amount
from schemas.explanation import LOSSES, OUTCOMES, ExplainedSpan, Explanation, LineOpen, OptionOpen
from services.checks.explained import explain
from services.desk import Desk
from services.pipeline.kept_evidence import evidence_of, reader_version
from services.web.staff.review_view import Case

# What else words may have meant that is shown of them; a long menu may have dozens.
_RIVALS = 3


@dataclass(frozen=True, slots=True)
class WordsView:
    """Words with what they were taken for and why, and what else they might have meant, in sentences; `taken`
    is empty for words that nothing was made of."""

    words: str
    taken: str
    why: str
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineWhy:
    """One line with its words, what is certain of it, what may be, and what was left to the model."""

    name: str
    words: str
    sure: tuple[str, ...]
    maybe: tuple[str, ...]
    open: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """All of the panel. `now` says that the order was read by another release than the one that explains."""

    outcome: str
    words: tuple[WordsView, ...]
    lines: tuple[LineWhy, ...]
    off_menu: tuple[str, ...]
    now: bool


def why(box: Desk, shown: Case) -> Why:
    """Raises TooMuchToRead: the words over this menu are past what is read for an explanation."""
    config = box.settings
    found = explain(
        shown.heard,
        evidence_of(shown.order, shown.menu),
        asr_threshold=config.asr_threshold,
        field_threshold=config.field_threshold,
        max_total=config.max_order_total,
    )
    kept = shown.order.evidence
    return Why(
        outcome=OUTCOMES[found.outcome],
        words=tuple(_words(found)),
        lines=tuple(_line(line) for line in found.lines),
        off_menu=found.off_menu,
        now=kept is not None and kept.get("reader") != reader_version(),
    )


def _words(found: Explanation) -> Iterator[WordsView]:
    """In the order of the words."""
    reading = found.reading
    views = [
        (span.tokens[0], WordsView(span.text, _named(span), span.because, _rivals(reading.rivals(span))))
        for span in reading.chosen
    ]
    views += [(span.tokens[0], WordsView(span.text, "", "", _rivals([span]))) for span in reading.forgone]
    views += [(i, WordsView(words, "", "not understood")) for i, words in reading.lost]
    for _, view in sorted(views, key=lambda view: view[0]):
        yield view


def _rivals(spans: list[ExplainedSpan]) -> tuple[str, ...]:
    told = []
    for span in spans[:_RIVALS]:
        because = LOSSES[span.why] if span.why else "not chosen"
        told.append(f"not {_named(span)}: {because}" + (f" ({span.lost_to.name})" if span.lost_to else ""))
    more = len(spans) - _RIVALS
    return (*told, *([f"and {more} more"] if more > 0 else []))


def _named(span: ExplainedSpan) -> str:
    return " or ".join(dict.fromkeys(ref.name for ref in span.refs))


def _line(line: LineOpen) -> LineWhy:
    sure: list[str] = []
    maybe: list[str] = []
    if line.sizes:
        (sure if line.size_required else maybe).append(" or ".join(size.name for size in line.sizes))
    for option in line.options:
        (sure if option.required else maybe).append(_option(option))
    name = f"{' or '.join(map(str, line.quantities))} × {' or '.join(item.name for item in line.items)}"
    return LineWhy(name, line.words, tuple(sure), tuple(maybe), line.open)


def _option(option: OptionOpen) -> str:
    amounts = [wording.so_much(amount, "").strip() or "normal" for amount in option.amounts]
    amount = "" if option.amounts == (Amount.NORMAL,) else " or ".join(amounts) + " "
    count = "" if option.counts == (1,) else " or ".join(map(str, option.counts)) + " × "
    return f"{count}{amount}{option.ref.name}"
