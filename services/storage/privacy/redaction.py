"""Redaction of stored documents.

Each function keeps only the fields that it lists, so that new fields are erased by default. Nothing remains
of a document with an unknown shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

UNNAMED = "something else"
"""The name of an item that isn't on the menu, which only the customer's words named."""

_LINE = (
    *("kind", "sku", "quantity", "size", "size_name", "options", "unit_price", "line_total"),
    *("confidence", "price_is_minimum", "ref", "size_ref"),
)
_CART = ("currency", "menu", "subtotal", "taxes", "total", "total_is_minimum")
ENGINE = ("decoder", "grammar", "prompt_tokens", "completion_tokens", "cached_tokens")
_BASIS = ("transcript_confidence", "cart_probability", "cart_trust", "second_transcript")
HISTORY = ("reviewer", "action", "code", "reasons", "corrected")
_MESSAGE = ("order_id", "shop", "seq", "status", "menu")


def cart(document: Any) -> dict[str, Any] | None:
    """Return a cart's priced lines with the menu's names, without words and findings."""
    try:
        lines = [_line(one) for one in only(document, ("lines",))["lines"]]
    except (KeyError, TypeError):
        return None
    return only(document, _CART) | {"lines": lines}


def error(document: Any) -> dict[str, Any] | None:
    """Return an error's code and stage, without the message, which may quote the customer."""
    kept = only(document, ("code", "stage"))
    return kept | {"message": "What happened was erased.", "hint": ""} if "code" in kept else None


def answer(document: Any) -> dict[str, Any] | None:
    """Return the model's probability, without its answer."""
    return only(document, ("probability", "trust")) or None


def decision(document: Any) -> dict[str, Any] | None:
    """Return a decision's codes and figures, without sentences and the question."""
    kept = only(document, ("verdict", "reasons", "basis"))
    kept |= {"basis": only(kept.get("basis"), _BASIS)}
    return kept if "verdict" in kept else None


def message(document: Any) -> dict[str, Any]:
    """Return a webhook message without what was said and without metadata."""
    data = only(document, ("data",)).get("data")
    known = {name: only(data, (name,)).get(name) for name in ("cart", "error")}
    redacted: dict[str, Any] = {
        "metadata": None,
        "question": None,
        "changed": [],
        "cart": cart(known["cart"]),
        "error": error(known["error"]),
    }
    return only(document, ("type", "timestamp")) | {"data": only(data, _MESSAGE) | redacted}


def _line(line: Any) -> dict[str, Any]:
    kept = only(line, _LINE)
    name = UNNAMED if kept["kind"] == "not_on_menu" else line["name"]
    return kept | {"name": name, "heard": {"text": "", "start_s": None, "end_s": None}, "findings": []}


def only(document: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return a document's fields of these names."""
    known = document if isinstance(document, Mapping) else {}
    return {name: known[name] for name in names if name in known}
