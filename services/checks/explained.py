"""Where an order would go and why: what the reading did, what the mask opens after it, and what the checks
find, for a person to look at. Nothing is decided here: it asks those who decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemas import wording
from schemas.cart import MAX_HEARD_CHARS, MAX_LINES, CartDraft, Finding
from schemas.decision import Decision, Policy
from schemas.evidence import Evidence, LineEvidence, OptionEvidence
from schemas.explanation import Destination, Explanation, LineOpen, OptionOpen, Outcome, Ref
from schemas.menu import Item, Menu, Size
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.checks.decide import decide
from services.checks.evidence import open_ends
from services.checks.naming import listed, option_name, quoted
from services.checks.one_cart import line_left, written
from services.checks.questions import open_question
from services.checks.triage import doubts
from services.reading.explained import explain_reading


def explain(
    transcript: Transcript,
    evidence: Evidence,
    *,
    asr_threshold: float,
    field_threshold: float,
    max_total: int,
) -> Explanation:
    """All that led from a transcript to its place; `evidence` is what was read of it, the rest as of
    `Policy` and `doubts`. Whether a learned reader would bear the cart out is not looked at.

    Raises:
        TooMuchToRead: the words over this menu are past what is read for an explanation.
    """
    menu, version = evidence.menu, evidence.menu_version
    settled = written(evidence)
    draft = settled or _proposed(evidence)
    cart: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    decision: Decision | None = None
    total, is_minimum = 0, False
    if draft is not None:
        policy = Policy(
            asr_threshold=asr_threshold,
            field_threshold=field_threshold,
            max_total=max_total,
            max_total_asked=max_total,
        )
        judged = decide(draft, transcript, evidence, None, policy)
        decision = judged.decision
        findings, total, is_minimum = judged.findings, judged.cart.total, judged.cart.total_is_minimum
        sizes = {size.id: size.name for size in menu.sizes}
        cart = tuple(wording.line(line, sizes, menu.currency) for line in judged.cart.lines)
    else:
        findings = tuple(open_ends(evidence))
    reasons = doubts(transcript, findings, asr_threshold=asr_threshold)
    question = open_question(findings, reasons)
    return Explanation(
        menu=menu.id,
        menu_version=version,
        currency=menu.currency,
        reading=explain_reading(transcript.text, menu),
        outcome=_outcome(evidence),
        lines=lines_open(evidence),
        off_menu=tuple(off.words for off in evidence.off_menu),
        destination=Destination(
            to="completed" if settled is not None and not reasons else "review",
            settled=settled is not None,
            cart=cart,
            total=total,
            total_is_minimum=is_minimum,
            reasons=reasons,
            findings=findings,
            question=question.text if question is not None else None,
            decision=decision,
        ),
    )


def lines_open(evidence: Evidence) -> tuple[LineOpen, ...]:
    """What the mask opens, line by line, by the menu's names."""
    return tuple(_line(line, evidence.menu) for line in evidence.lines)


def _proposed(evidence: Evidence) -> CartDraft | None:
    """The cart that the words lead to, doubts or not; None where a model has to choose."""
    menu = evidence.menu
    if not all(line.settled(menu) for line in evidence.lines):
        return None
    lines = [line_left(line, menu) | {"heard": line.words or line.anchor} for line in evidence.lines]
    lines += [
        {
            "kind": "not_on_menu",
            "heard": whole_words(one.words, MAX_HEARD_CHARS),
            "quantity": one.quantities[0],
        }
        for one in (evidence.off_menu if not lines else ())
    ]
    return CartDraft.model_validate({"lines": lines[:MAX_LINES]})


def _outcome(evidence: Evidence) -> Outcome:
    if not evidence.lines:
        return "nothing"
    return "settled" if evidence.plain else "open"


def _line(line: LineEvidence, menu: Menu) -> LineOpen:
    items = [item for item in map(menu.item, line.items) if item is not None]
    sizes, options = _sizes(line, items, menu), _options(line, items)
    return LineOpen(
        anchor=line.anchor,
        words=line.words or line.region,
        items=tuple(Ref(id=item.sku, name=item.name) for item in items),
        quantities=line.quantities,
        sizes=tuple(Ref(id=size.id, name=size.name) for size in sizes),
        size_required=line.size_required and bool(sizes),
        options=tuple(
            OptionOpen(
                ref=Ref(id=o.id, group=o.group, name=option_name(o.group, o.id, menu)),
                amounts=o.amounts,
                counts=o.counts,
                required=o.required,
            )
            for o in options
        ),
        copies=line.copies,
        required=line.required,
        settled=line.settled(menu),
        open=(
            *_left(line, items, [size.name for size in sizes]),
            *_options_left(options, menu),
            *_stray(line),
        ),
    )


def _sizes(line: LineEvidence, items: Sequence[Item], menu: Menu) -> list[Size]:
    """The sizes that are open to a line, of those that one of its items comes in."""
    own = {size for item in items for size in item.size_ids}
    return [size for size in map(menu.size, line.sizes) if size is not None and size.id in own]


def _options(line: LineEvidence, items: Sequence[Item]) -> list[OptionEvidence]:
    """The options that are open to a line, of those that one of its items comes with."""
    groups = {group for item in items for group in item.option_groups}
    return [option for option in line.options if option.group in groups]


def _left(line: LineEvidence, items: Sequence[Item], sizes: Sequence[str]) -> Iterator[str]:
    """What is left to choose of a line, but for its options, in words."""
    if not line.required:
        yield "whether it is ordered at all"
    if line.copies > 1:
        yield f"whether it is one line, or up to {line.copies}"
    if len(items) > 1:
        yield f"which is meant: {listed((item.name for item in items), 'or')}"
    if len(line.quantities) > 1:
        yield f"how many: {_either(line.quantities)}"
    if sizes and not (line.size_required and len(sizes) == 1):
        yield f"which size: {_either([*sizes, *([] if line.size_required else ['none'])])}"


def _options_left(options: Sequence[OptionEvidence], menu: Menu) -> Iterator[str]:
    for option in options:
        name = quoted(option_name(option.group, option.id, menu))
        if not option.required:
            yield f"whether {name} belongs to it"
        if len(option.amounts) > 1:
            amounts = [amount.value for amount in option.amounts]
            yield f"how much of {name}: {_either(amounts)}"
        if len(option.counts) > 1:
            yield f"how often {name}: {_either(option.counts)}"


def _stray(line: LineEvidence) -> Iterator[str]:
    if line.stray:
        yield "what was asked of it that it does not come with, or how many a plural means"


def _either(values: Sequence[object]) -> str:
    *most, last = map(str, values)
    return f"{', '.join(most)} or {last}" if most else last
