"""Sample orders, spoken and typed, with their gold carts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.order import Order
from schemas.priced_cart import Cart

SAMPLES = REPOSITORY / "infra" / "samples"
RECORDINGS = SAMPLES / "recordings"
Document = dict[str, Any]


@dataclass(slots=True)
class Sample:
    """One gold row, its order, and the seconds from upload to result."""

    row: Document
    order: Order | None = None
    seconds: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        return bool(self.row.get("expect") == "review")

    @property
    def right(self) -> bool:
        """Return True if a doubtful sample went to a person, or a plain one completed with the gold cart."""
        if self.order is None:
            return False
        if self.is_doubtful:
            return self.order.status == "needs_review"
        return (
            self.order.status == "completed"
            and self.order.cart is not None
            and same_cart(self.order.cart, self.row["cart"])
        )


def same_cart(cart: Cart, gold: Document) -> bool:
    """Return True if two carts have the same lines, in any order, ignoring sizes that gold doesn't name."""
    remaining = canonical(cart.model_dump(mode="json")["lines"])
    for (kind, sku, size, options), quantity in canonical(gold["lines"]).items():
        fits = (
            key
            for key, count in remaining.items()
            if count >= quantity
            and (key[0], key[1], key[3]) == (kind, sku, options)
            and size in (None, key[2])
        )
        if (match := next(fits, None)) is None:
            return False
        remaining[match] -= quantity
    return not +remaining


def load_samples() -> list[Sample]:
    """Load the sample orders: recordings, then typed ones of a sample shop."""
    files = (RECORDINGS / "gold.jsonl", SAMPLES / "shops" / "gold.jsonl")
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [Sample(json.loads(line)) for line in lines if line.strip()]


def load_menus(folder: str = "menus") -> dict[str, Document]:
    """Load the sample menus of a folder by id."""
    documents = [json.loads(path.read_text()) for path in sorted((SAMPLES / folder).glob("*.json"))]
    return {menu["id"]: menu for menu in documents}
