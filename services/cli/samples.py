"""The shipped samples, and whether an order came out as their gold carts say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from infra.settings import REPOSITORY
from schemas.cart import Cart
from schemas.compare import canonical
from schemas.order import Order

SAMPLES = REPOSITORY / "infra" / "samples"
RECORDINGS = SAMPLES / "recordings"
Document = dict[str, Any]


@dataclass(slots=True)
class Sample:
    """One row of the gold file, its order, and the seconds from upload to result."""

    row: Document
    order: Order | None = None
    seconds: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        return bool(self.row.get("expect") == "review")

    @property
    def right(self) -> bool:
        """A doubtful sample must reach a human; a plain one must complete with the gold cart."""
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
    """Equal as multisets of lines: sku, quantity, options as sets, and the size where gold names one."""
    open_ = canonical(cart.model_dump(mode="json")["lines"])
    for (kind, sku, size, options), quantity in canonical(gold["lines"]).items():
        fits = (
            key
            for key, left in open_.items()
            if left >= quantity
            and (key[0], key[1], key[3]) == (kind, sku, options)
            and size in (None, key[2])
        )
        if (match := next(fits, None)) is None:
            return False
        open_[match] -= quantity
    return not +open_


def load_samples() -> list[Sample]:
    """The rows of the gold file, none sent yet."""
    lines = (RECORDINGS / "gold.jsonl").read_text().splitlines()
    return [Sample(json.loads(line)) for line in lines if line.strip()]


def load_menus() -> dict[str, Document]:
    """The shipped menu documents by id."""
    documents = [json.loads(path.read_text()) for path in sorted((SAMPLES / "menus").glob("*.json"))]
    return {menu["id"]: menu for menu in documents}
