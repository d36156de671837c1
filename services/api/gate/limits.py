"""The table of the API's limits. A setting of 0 means no limit.

Sizes of bodies are limited in `bodies.py`, slow clients and numbers of connections by the proxy
(docs/security.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from prometheus_client import Counter

from infra.settings import Settings

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
_SPACE = "take too much space today: order as text, or raise SAYCART_SHOP_RECORDING_BYTES_PER_DAY"


class Limit(NamedTuple):
    """At most `setting` requests, bytes, orders or seconds, times `share`: in `span_s`, or at once if that is
    0. `message` is for callers over the limit."""

    name: str
    setting: str
    span_s: int = 0
    message: str = ""
    share: float = 1.0


LIMITS = {limit.name: limit for limit in (
    # Requests and bytes, by `rates.py`: 429 too_many_requests.
    Limit("key", "key_requests_per_minute", MINUTE_S, "This key, or person, sent too many requests"),
    Limit("shop", "key_requests_per_minute", MINUTE_S, "The keys of this shop sent too many requests", 5.0),
    Limit("address", "address_requests_per_minute", MINUTE_S,
          "Too many requests came from this address without a valid key"),
    Limit("order", "address_requests_per_minute", MINUTE_S, "Too many requests were made about this order"),
    Limit("menus", "shop_menus_per_hour", HOUR_S, "The menus of this shop were changed too often"),
    Limit("address_upload", "max_upload_bytes", MINUTE_S,
          "Too many bytes of recordings came from this address", 2.0),
    Limit("address_recordings", "shop_recording_bytes_per_day", DAY_S,
          f"Recordings from this address {_SPACE}", 0.05),
    Limit("page_recordings", "shop_recording_bytes_per_day", DAY_S,
          f"Recordings from this shop's pages {_SPACE}", 0.5),
    Limit("shop_recordings", "shop_recording_bytes_per_day", DAY_S, f"The recordings of this shop {_SPACE}"),
    # Orders waiting for workers or a person, by `pressure.py`: 429 too_many_orders; for `all` 503 overloaded.
    Limit("client", "client_backlog"),
    Limit("visitor", "address_backlog", share=0.5),
    Limit("place", "address_backlog"),
    Limit("pages", "shop_backlog", share=0.5),
    Limit("shop_orders", "shop_backlog"),
    Limit("all", "max_backlog"),
    # Seconds of work that orders took in their last minute, by `pressure.py`: 429 too_many_orders.
    Limit("address_seconds", "address_seconds_per_minute"),
    Limit("key_seconds", "model_seconds_per_minute"),
    Limit("page_seconds", "model_seconds_per_minute"),
    Limit("shop_seconds", "model_seconds_per_minute", share=2.0),
)}  # fmt: skip


def amounts(config: Settings) -> dict[str, int]:
    """Return the value of each limit by its name."""
    return {name: int(getattr(config, limit.setting) * limit.share) for name, limit in LIMITS.items()}


def refusal_counter(name: str, description: str, label: str, values: Iterable[str]) -> Counter:
    """Return a counter that starts at 0 for each value of its label; each app registers its own."""
    counter = Counter(f"saycart_{name}", description, [label], registry=None)
    for value in values:
        counter.labels(value)
    return counter
