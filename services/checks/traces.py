"""Traces: for each value of a cart's line, the words that it rests on and how they name it.

An item rests on its name, a size and an option on theirs, a quantity on its number or, without one, on the
words before the item that name nothing ("a", "can I get"). What nobody said (one of it, no size) rests on the
words of its line. The line itself, as it was heard, rests on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from schemas.cart import Amount, CartDraft, ItemLine, OptionDraft
from schemas.evidence import Evidence, LineEvidence, Mention, OptionEvidence
from services.reading.chart.tokens import tokenize
from services.reading.language.language import Language, language_of
from services.reading.values.numbers import number_value

Kind = Literal["item", "quantity", "size", "option", "line"]
KINDS: tuple[Kind, ...] = ("item", "quantity", "size", "option", "line")
_AMOUNT_WORDS = 3  # words before an option that may say how much of it

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Trace:
    """One value. `name` is its place in the draft's line (`sku`, `options/milk/oat`), `spans` its words as
    character offsets of the evidence's transcript, `score` that of the mention (1: as written), `chosen`
    whether the mask left it to the model."""

    kind: Kind
    name: str
    spans: tuple[Span, ...]
    score: float
    chosen: bool
    guessed: bool = False
    unsaid: bool = False


def traces(draft: CartDraft, evidence: Evidence) -> list[list[Trace]]:
    """The traces of each line of a draft; none for a line off the menu or one that no words account for."""
    starts = _starts(evidence)
    left = [place.copies for place in evidence.lines]
    found: list[list[Trace]] = []
    for line in draft.lines:
        fitting = [
            i for i, n in enumerate(left) if n and isinstance(line, ItemLine) and _has(evidence, i, line)
        ]
        if not fitting or not isinstance(line, ItemLine):
            found.append([])
            continue
        at = max(fitting, key=lambda i: (_likeness(line, evidence.lines[i]), -i))
        left[at] -= 1
        place = evidence.lines[at]
        found.append(list(_line(line, place, (starts[at], starts[at] + len(place.region)), evidence)))
    return found


def _starts(evidence: Evidence) -> list[int]:
    """Where each place's words begin; places stand in the order of the words, parts of one at one place."""
    starts, at = [], 0
    for place in evidence.lines:
        at = max(evidence.transcript.find(place.region, at), 0)
        starts.append(at)
    return starts


def _has(evidence: Evidence, index: int, line: ItemLine) -> bool:
    return line.sku in evidence.lines[index].items


def _likeness(line: ItemLine, place: LineEvidence) -> int:
    """How much of a line this place would allow."""
    allowed = {(o.group, o.id) for o in place.options}
    return (
        2 * (line.heard in place.region)
        + 2 * (line.quantity in place.quantities)
        + 2 * (line.size in place.sizes if line.size else not place.size_required)
        + sum(1 if (o.group, o.id) in allowed else -1 for o in line.options)
    )


def _line(line: ItemLine, place: LineEvidence, region: Span, evidence: Evidence) -> Iterator[Trace]:
    here = [m for m in evidence.mentions if region[0] <= m.start and m.end <= region[1]]
    item = _naming("item", line.sku, [m for m in here if m.text == place.anchor] or here)
    chosen = not place.required or len(place.items) > 1
    fields = [
        _named("item", "sku", item, region, chosen),
        _quantity(place, here, item, region, language_of(evidence.menu)),
        _size(line, place, here, region, evidence),
        *(_option(option, place, here, region, evidence) for option in line.options),
    ]
    yield from fields
    yield Trace(
        "line",
        "heard",
        (region,),
        min(field.score for field in fields),
        not place.settled(evidence.menu),
        guessed=any(field.guessed for field in fields),
    )


def _quantity(
    place: LineEvidence, here: Sequence[Mention], item: Mention | None, region: Span, language: Language
) -> Trace:
    end = item.start if item is not None else region[1]
    words = [
        (region[0] + token.start, region[0] + token.end, number_value(token.folded, language))
        for token in tokenize(place.region, language)
    ]
    free = [w for w in words if w[1] <= end and not any(m.start <= w[0] and w[1] <= m.end for m in here)]
    numbers = [w for w in free if w[2] is not None]
    spans = tuple((start, stop) for start, stop, _ in numbers or free) or (region,)
    chosen = len(place.quantities) > 1
    return Trace("quantity", "quantity", spans, 1.0, chosen, unsaid=not numbers)


def _size(
    line: ItemLine, place: LineEvidence, here: Sequence[Mention], region: Span, evidence: Evidence
) -> Trace:
    chosen = bool(place.sizes) and not place.size_required
    if line.size is None:
        return Trace("size", "size", (region,), 1.0, chosen, unsaid=True)
    named = _naming("size", line.size, here) or _naming("size", line.size, evidence.mentions)
    return _named("size", "size", named, region, chosen)


def _option(
    option: OptionDraft, place: LineEvidence, here: Sequence[Mention], region: Span, evidence: Evidence
) -> Trace:
    ref = (option.group, option.id)
    named = _naming("option", ref, here) or _naming("option", ref, evidence.mentions)
    open_one = next((o for o in place.options if (o.group, o.id) == ref), None)
    trace = _named("option", f"options/{option.group}/{option.id}", named, region, _is_open(open_one))
    if named is None or (option.amount is Amount.NORMAL and option.count == 1):
        return trace
    words = tokenize(evidence.transcript, language_of(evidence.menu))
    before = [token for token in words if token.end <= named.start]
    start = min((token.start for token in before[-_AMOUNT_WORDS:]), default=named.start)
    return Trace("option", trace.name, ((start, named.end),), trace.score, trace.chosen, trace.guessed)


def _is_open(option: OptionEvidence | None) -> bool:
    return option is None or not option.required or len(option.amounts) * len(option.counts) > 1


def _named(kind: Kind, name: str, mention: Mention | None, region: Span, chosen: bool) -> Trace:
    """A value by the mention of it; without one it rests on its line, and weakly."""
    if mention is None:
        return Trace(kind, name, (region,), 0.0, chosen=True, unsaid=True)
    return Trace(kind, name, ((mention.start, mention.end),), mention.score, chosen, mention.guessed)


def _naming(kind: str, ref: str | tuple[str, str], among: Sequence[Mention]) -> Mention | None:
    """The best mention of an id, or of an option by group and id."""
    refs = [
        m
        for m in among
        if m.kind == kind and ref in (zip(m.groups, m.ids, strict=True) if kind == "option" else m.ids)
    ]
    return max(refs, key=lambda m: m.score, default=None)
