"""Hand-made gold and prediction rows, whose figures can be worked out by hand."""

from __future__ import annotations

from typing import Any


def gold_row(name: str, sku: str = "latte", **more: Any) -> dict[str, Any]:
    return {"id": name, "audio": f"{name}.flac", "cart": {"lines": [{"sku": sku, "quantity": 1}]}, **more}


def prediction(
    name: str, sku: str = "latte", confidence: float = 0.9, review: str = "", **more: Any
) -> dict[str, Any]:
    """A heard row; `review` is the code of a blocking finding that sent it to review, if any."""
    finding = {"code": review, "severity": "blocking", "message": f"{review} it is", "line": None}
    return {
        "id": name,
        "cart": {"lines": [{"kind": "item", "heard": sku, "sku": sku, "quantity": 1}]},
        "transcript": f"a {sku}",
        "confidence": confidence,
        "decision": "review" if review else "accept",
        "reasons": ["blocking_finding"] if review else [],
        "findings": [finding] if review else [],
        "ms": {"transcribe": 1000.0, "decode": 3000.0, "validate": 2.0},
        **more,
    }
