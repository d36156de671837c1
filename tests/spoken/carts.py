"""The one cart that is left where the words leave nothing open, so that no model needs to be asked."""

from __future__ import annotations

from typing import Any

from schemas.cart import CartDraft
from schemas.evidence import Evidence, LineEvidence
from schemas.menu import Menu


def one_cart(evidence: Evidence) -> CartDraft | None:
    """The draft that the mask and the pipeline's tidying leave of `evidence`; None where anything is open."""
    if not evidence.plain:
        return None
    return CartDraft.model_validate({"lines": [line_left(told, evidence.menu) for told in evidence.lines]})


def line_left(told: LineEvidence, menu: Menu) -> dict[str, Any]:
    """The line that settled evidence leaves."""
    item = menu.item(told.items[0])
    assert item is not None
    return {
        "kind": "item",
        "heard": told.anchor,
        "sku": item.sku,
        "quantity": told.quantities[0],
        "size": next((size for size in told.sizes if size in item.size_ids), None),
        "options": [
            {"group": o.group, "id": o.id, "amount": o.amounts[0].value, "count": o.counts[0]}
            for o in told.options
            if o.group in item.option_groups
        ],
    }
