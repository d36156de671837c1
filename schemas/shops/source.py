"""Who an order came from: a till's key, or a page with address and browser."""

from __future__ import annotations

PAGE = "page:"
"""How the client of an order that came from a page begins: `page:KEY/ADDRESS/BROWSER`."""


def is_page(source: str | None) -> bool:
    """Whether an order, or whoever may send one, comes from a page."""
    return source is not None and source.startswith(PAGE)


def source_of(client: str | None) -> str | None:
    """Whose turn an order takes (`turns.py`): its client's, without the browser where it came from a page."""
    return client.rpartition("/")[0] if client and client.startswith(PAGE) else client
