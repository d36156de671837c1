"""When are two carts the same order? For scores, reviews and gold rows alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

from schemas.cart import CartDraft

Chosen = tuple[str, str, str, int, str]
"""An option: group, id, amount, count, portion."""

LineKey = tuple[str, str | None, str | None, frozenset[Chosen]]
"""A line without its quantity: kind, sku, size, options."""


def canonical(lines: list[dict[str, Any]]) -> Counter[LineKey]:
    """Draft lines as a multiset: (kind, sku, size, options) -> quantity.

    Equal lines are merged, options are a set, fields left out mean their default, and the customer's words
    (`heard`) do not count.
    """
    merged: Counter[LineKey] = Counter()
    for line in lines:
        merged[line_key(line)] += line["quantity"]
    return merged


def canonical_draft(draft: CartDraft | None) -> Counter[LineKey]:
    """The same of a draft; none is an empty one."""
    return canonical(draft.model_dump(mode="json")["lines"]) if draft else Counter()


def same_order(one: CartDraft, other: CartDraft) -> bool:
    """Whether two drafts are the same to a kitchen: equal lines and equal notes."""
    return canonical_draft(one) == canonical_draft(other) and Counter(one.notes) == Counter(other.notes)


def line_key(line: dict[str, Any]) -> LineKey:
    """What makes two draft lines equal but for their quantity."""
    options = frozenset(
        (o["group"], o["id"], o.get("amount", "normal"), o.get("count", 1), o.get("portion", "whole"))
        for o in line.get("options", ())
    )
    return line.get("kind", "item"), line.get("sku"), line.get("size"), options
