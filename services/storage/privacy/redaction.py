"""What is left of a document once what the customer said is taken out of it.

Each function keeps what it names and nothing else, so that a field that is added later is erased until
it is named here. Of a document that has another shape than ours nothing is left: what an earlier
release let in must not keep an order from being erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

UNNAMED = "something else"
"""Stands for what the menu does not have: only the customer's words named it."""

_LINE = (
    *("kind", "sku", "quantity", "size", "size_name", "options", "unit_price", "line_total"),
    *("confidence", "price_is_minimum", "ref", "size_ref"),
)
_CART = ("currency", "menu", "subtotal", "taxes", "total", "total_is_minimum")
ENGINE = ("decoder", "grammar", "prompt_tokens", "completion_tokens", "cached_tokens")
_BASIS = ("transcript_confidence", "cart_probability", "cart_trust", "second_transcript")
HISTORY = ("reviewer", "action", "code", "reasons", "corrected")
ACT = ("action", "version", "from")
_MESSAGE = ("order_id", "shop", "seq", "status", "menu")


def cart(document: Any) -> dict[str, Any] | None:
    """Its priced lines, with the menu's names; neither words nor findings, which quote them."""
    try:
        lines = [_line(one) for one in only(document, ("lines",))["lines"]]
    except (KeyError, TypeError):
        return None
    return only(document, _CART) | {"lines": lines}


def error(document: Any) -> dict[str, Any] | None:
    """Its code and stage; the sentence may quote a text."""
    kept = only(document, ("code", "stage"))
    return kept | {"message": "What happened was erased.", "hint": ""} if "code" in kept else None


def answer(document: Any) -> dict[str, Any] | None:
    """How sure the model was; not what it wrote."""
    return only(document, ("probability", "trust")) or None


def decision(document: Any) -> dict[str, Any] | None:
    """Where the order went, by codes and figures; sentences and the question quote what was said."""
    kept = only(document, ("verdict", "reasons", "basis"))
    kept |= {"basis": only(kept.get("basis"), _BASIS)}
    return kept if "verdict" in kept else None


def message(document: Any) -> dict[str, Any]:
    """Of a message to the shop's system: all but what was said and the metadata."""
    data = only(document, ("data",)).get("data")
    known = {name: only(data, (name,)).get(name) for name in ("cart", "error")}
    left: dict[str, Any] = {
        "metadata": None,
        "question": None,
        "changed": [],
        "cart": cart(known["cart"]),
        "error": error(known["error"]),
    }
    return only(document, ("type", "timestamp")) | {"data": only(data, _MESSAGE) | left}


def _line(line: Any) -> dict[str, Any]:
    kept = only(line, _LINE)
    name = UNNAMED if kept["kind"] == "not_on_menu" else line["name"]
    return kept | {"name": name, "heard": {"text": "", "start_s": None, "end_s": None}, "findings": []}


def only(document: Any, names: Iterable[str]) -> dict[str, Any]:
    """Its fields of these names: `ENGINE`, an event's `HISTORY`, or `ACT`, what a reviewer did."""
    known = document if isinstance(document, Mapping) else {}
    return {name: known[name] for name in names if name in known}
