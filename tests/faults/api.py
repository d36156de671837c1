"""The product's API, killed at boundaries of the accept path (`points.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.records.orders import NewOrder
from services.api import __main__ as api
from services.doorbell import Doorbell
from services.storage.orders.store import OrderStore
from tests.faults.points import folder, strike, wrap

# Metadata of orders stored by this process: the doorbell gets only an id.
_known: dict[str, dict[str, Any] | None] = {}


def _create(original: Callable[..., Any], store: OrderStore, new: NewOrder, **named: Any) -> Any:
    strike(new.metadata, "accept/before_commit")
    order, created = original(store, new, **named)
    _known[order.id] = new.metadata
    strike(new.metadata, "accept/after_commit")
    return order, created


def _ring(original: Callable[..., bool], bell: Doorbell, order_id: str, state: Any, *delay: float) -> bool:
    metadata = _known.pop(order_id, None)
    strike(metadata, "accept/before_enqueue")
    done = original(bell, order_id, state, *delay)
    strike(metadata, "accept/after_enqueue")
    return done


def main() -> None:
    """Serve like `python -m services.api`."""
    if folder() is not None:
        wrap(OrderStore, "create", _create)
        wrap(Doorbell, "ring", _ring)
    api.main()


if __name__ == "__main__":
    main()
