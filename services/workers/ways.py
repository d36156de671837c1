"""Where the courier takes a message: to the deployment's URL, or to an endpoint of a shop."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from infra.webhooks import Signer, Target
from schemas.webhook import TestMessage, TestOrder
from services.storage.endpoint_ways import Allowed, EndpointWays
from services.storage.ids import new_id
from services.storage.outbox_order import OWN_URL


class Ways:
    """`own`: the deployment's URL, if there is one. `allowed`: the setting `webhook_endpoints`. Calls may
    raise StorageUnavailable."""

    def __init__(self, own: Target | None, endpoints: EndpointWays, allowed: Allowed) -> None:
        self._own, self._endpoints, self._allowed = own, endpoints, allowed

    def serves(self, endpoint_id: str) -> bool:
        """Whether messages to it are to be claimed; others wait for a courier with other settings."""
        return self._own is not None if endpoint_id == OWN_URL else self._allowed != "off"

    def to(self, endpoint_id: str) -> Target | None:
        """How a message gets there; None where the endpoint is no more."""
        if endpoint_id == OWN_URL:
            return self._own
        way = self._endpoints.way(endpoint_id)
        if way is None:
            return None
        # Whatever a setting was when it was made: what may be reached now is what counts.
        reach: Literal["public", "private"] = "private" if self._allowed == "private" else "public"
        return Target(way.url, Signer(" ".join(way.secrets)), reach)

    def tests_wanted(self) -> list[str]:
        return [] if self._allowed == "off" else self._endpoints.tests_wanted()

    def take_test(self, endpoint_id: str) -> bool:
        return self._endpoints.take_test(endpoint_id)

    def test_message(self, endpoint_id: str) -> tuple[str, str]:
        """Id and body of a test message."""
        way = self._endpoints.way(endpoint_id)
        data = TestOrder(shop=way.shop if way else "", webhook=endpoint_id)
        return new_id("msg"), TestMessage(timestamp=datetime.now(UTC), data=data).model_dump_json()

    def note_test(self, endpoint_id: str, error: str) -> None:
        self._endpoints.note_test(endpoint_id, error)
