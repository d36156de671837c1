"""The one cart that is left where the words leave nothing open, so that no model needs to be asked."""

from __future__ import annotations

from typing import Any

from schemas.cart import CartDraft
from schemas.evidence import Evidence, LineEvidence
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.checks.confidence import least_sure
from services.checks.judge import doubts_of
from services.reading.language.language import language_of
from services.reading.whole.own_words import own_words

# What the customer is asked about, and the question says which: no doubt about what was heard.
ASKED = frozenset({"missing_size", "missing_required_option"})


def one_cart(evidence: Evidence) -> CartDraft | None:
    """The draft that `evidence` leaves; None where anything is open."""
    if not evidence.plain:
        return None
    return CartDraft.model_validate({"lines": [line_left(told, evidence.menu) for told in evidence.lines]})


def written(evidence: Evidence) -> CartDraft | None:
    """`one_cart` with the words of each line, as a model would copy them: from its number, article or first
    value to the end of what belongs to it."""
    draft = one_cart(evidence)
    if draft is None:
        return None
    lines = [
        line.model_copy(update={"heard": own_words(told, language_of(evidence.menu)) or told.anchor})
        for line, told in zip(draft.lines, evidence.lines, strict=True)
    ]
    return draft.model_copy(update={"lines": tuple(lines)})


def undoubted_cart(evidence: Evidence) -> CartDraft | None:
    """`one_cart`, where no finding sends it to a human but one that only asks for a choice; else None."""
    draft = one_cart(evidence)
    if draft is None:
        return None
    findings = doubts_of(draft, evidence.menu, evidence)
    doubts = {f.code for f in findings if f.blocks} - ASKED
    return None if doubts else draft


def surely_heard(evidence: Evidence, transcript: Transcript, threshold: float) -> bool:
    """Whether the words leave one cart, and each field of it was heard with a confidence of `threshold`
    (0..1) or more. That is told by this cart alone: what a model chose of the same words for another one is
    less sure by itself, however well they were heard."""
    cart = undoubted_cart(evidence)
    if cart is None:
        return False
    least = least_sure(cart, evidence, transcript)
    return least is not None and least >= threshold


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
