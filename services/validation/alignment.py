"""Which words of the transcript each line of a cart rests on: from the first to the last of its values'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.menus.nesting import source
from services.retrieval.retrieval import Match, Mention, Number, Retrieval

Span = tuple[int, int]
Ref = tuple[str, str | None, str]
"""A name's kind, the group of an option, and the id."""


def align(lines: Sequence[Mapping[str, Any]], found: Retrieval) -> list[Span | None]:
    """The words of each line of a draft, as character offsets; None for a line whose item no words name, and
    one off the menu."""
    anchors = list(_anchors(lines, found))
    return [
        _words(line, anchor, _zone(anchor, anchors), found) if anchor else None
        for line, anchor in zip(lines, anchors, strict=True)
    ]


def _anchors(lines: Sequence[Mapping[str, Any]], found: Retrieval) -> Iterator[Mention | None]:
    """For each line the place that names its item: the surest that no earlier line has, then the first."""
    used: set[Span] = set()
    for line in lines:
        naming = _naming(("item", None, line["sku"]), found) if line.get("sku") else []
        free = [mention for mention in naming if (mention.start, mention.end) not in used]
        best = min(free or naming, key=lambda m: (m.match is not Match.WHOLE, m.start), default=None)
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


def _words(line: Mapping[str, Any], anchor: Mention, zone: Span, found: Retrieval) -> Span:
    refs: list[Ref] = [("size", None, line["size"])] if line.get("size") else []
    refs += [_option(option["group"], option["id"]) for option in line.get("options") or ()]
    near = [_nearest(_naming(ref, found), anchor) for ref in refs]
    near.append(_nearest(_counts(line, anchor, found), anchor))
    own = [anchor, *(one for one in near if one and zone[0] <= one.start and one.end <= zone[1])]
    return min(one.start for one in own), max(one.end for one in own)


def _option(group_id: str, option_id: str) -> Ref:
    group = source(group_id)
    return ("option", group, option_id) if group else ("size", None, option_id)


def _counts(line: Mapping[str, Any], anchor: Mention, found: Retrieval) -> list[Number]:
    """The numbers before an item that are its quantity."""
    quantity = int(line.get("quantity", 1))
    return [number for number in found.numbers if number.value == quantity and number.end <= anchor.start]


def _nearest(places: Sequence[Mention | Number], anchor: Mention) -> Mention | Number | None:
    return min(places, key=lambda p: max(anchor.start - p.end, p.start - anchor.end, 0), default=None)
