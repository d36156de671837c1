"""Which words each line of a cart rests on, and each of its values.

An item rests on its name, a size and an option on theirs, a quantity on its number. What nobody said (one of
it, no size), or only in words that retrieval can't tell, rests on the words of its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from services.retrieval.retrieval import Match, Mention, Retrieval

Kind = Literal["item", "quantity", "size", "option", "line"]
KINDS: tuple[Kind, ...] = ("item", "quantity", "size", "option", "line")
Span = tuple[int, int]
Ref = tuple[str, str | None, str]
"""A name's kind, the group of an option, and the id."""

EXACT = {Match.WHOLE: 1.0, Match.MISHEARD: 0.7, Match.PARTIAL: 0.7}
"""How near the words are to the name, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a line: `name` is its place in the draft's line (`sku`, `options/milk/oat`), `span` its
    words as character offsets (None: nobody said it), `exact` how near they are to the name, 0 to 1."""

    kind: Kind
    name: str
    span: Span | None
    exact: float = 1.0


@dataclass(slots=True)
class AlignedLine:
    """One line's words: from the first to the last that any of its values rests on."""

    span: Span
    values: list[Value] = field(default_factory=list)


def align(lines: Sequence[Mapping[str, Any]], found: Retrieval) -> list[AlignedLine | None]:
    """The words of each line of a draft; None for a line whose item no words name, and one off the menu."""
    anchors = list(_anchors(lines, found))
    return [
        _aligned(line, anchor, _zone(anchor, anchors), found) if anchor else None
        for line, anchor in zip(lines, anchors, strict=True)
    ]


def _anchors(lines: Sequence[Mapping[str, Any]], found: Retrieval) -> Iterator[Mention | None]:
    """For each line the place that names its item: the surest that no earlier line has, then the first."""
    used: set[Span] = set()
    for line in lines:
        naming = _naming(("item", None, line["sku"]), found) if line.get("sku") else []
        free = [mention for mention in naming if (mention.start, mention.end) not in used]
        best = min(free or naming, key=lambda m: (-EXACT[m.match], m.start), default=None)
        if best is not None:
            used.add((best.start, best.end))
        yield best


def _zone(anchor: Mention, anchors: Sequence[Mention | None]) -> Span:
    """Between the names of the items before and behind."""
    before = [a.end for a in anchors if a is not None and a.end <= anchor.start]
    behind = [a.start for a in anchors if a is not None and a.start >= anchor.end]
    return max(before, default=0), min(behind, default=2**31)


def _naming(ref: Ref, found: Retrieval) -> list[Mention]:
    return [m for m in found.mentions if any((n.kind, n.group, n.id) == ref for n in m.names)]


def _aligned(line: Mapping[str, Any], anchor: Mention, zone: Span, found: Retrieval) -> AlignedLine:
    item = Value("item", "sku", (anchor.start, anchor.end), EXACT[anchor.match])
    refs: list[tuple[Kind, str, Ref]] = []
    if line.get("size"):
        refs.append(("size", "size", ("size", None, line["size"])))
    for option in line.get("options") or ():
        group, ref = option["group"], option["id"]
        refs.append(("option", f"options/{group}/{ref}", ("option", group, ref)))
    values = [item, _quantity(int(line.get("quantity", 1)), anchor, zone, found)]
    values += [_named(kind, name, _nearest(_naming(ref, found), anchor, zone)) for kind, name, ref in refs]
    own = [v.span for v in values if v.span and zone[0] <= v.span[0] and v.span[1] <= zone[1]]
    return AlignedLine((min(start for start, _ in own), max(end for _, end in own)), values)


def _quantity(quantity: int, anchor: Mention, zone: Span, found: Retrieval) -> Value:
    """The number nearest to the item among those of this value, the ones before it first."""
    said = [
        (number.start >= anchor.end, abs(number.start - anchor.start), (number.start, number.end))
        for number in found.numbers
        if number.value == quantity and zone[0] <= number.start and number.end <= zone[1]
    ]
    return Value("quantity", "quantity", min(said)[2] if said else None)


def _nearest(naming: Sequence[Mention], anchor: Mention, zone: Span) -> Mention | None:
    """The mention nearest to the item, those in the line's own words first."""

    def order(mention: Mention) -> tuple[bool, int]:
        outside = mention.start < zone[0] or mention.end > zone[1]
        return outside, max(anchor.start - mention.end, mention.start - anchor.end, 0)

    return min(naming, key=order, default=None)


def _named(kind: Kind, name: str, mention: Mention | None) -> Value:
    if mention is None:
        return Value(kind, name, None, 0.0)
    return Value(kind, name, (mention.start, mention.end), EXACT[mention.match])
