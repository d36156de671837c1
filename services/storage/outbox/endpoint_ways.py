"""Where the courier takes a message: to the deployment's URL, or to an endpoint of a shop."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import select, update

from infra.sql.database import Database
from infra.webhooks import Signer, Target
from schemas.shops.endpoint import Allowed
from schemas.shops.webhook import TestMessage, TestOrder
from services.storage.base.changes import glancing, writing
from services.storage.base.ids import new_id
from services.storage.base.tables_webhooks import WebhookEndpointRow
from services.storage.outbox.outbox_order import OWN_URL
from services.storage.outbox.store import storable

_ON_ITS_WAY = "sent, and no answer was noted"
_WANTED = (WebhookEndpointRow.test_asked_at.is_not(None), WebhookEndpointRow.test_sent_at.is_(None))


class Ways:
    """Of all shops. Every call is one transaction at most, and may raise StorageUnavailable."""

    def __init__(self, database: Database, own: Target | None, allowed: Allowed) -> None:
        """`own`: the deployment's URL, if there is one."""
        self._database, self._own, self._allowed = database.everywhere(), own, allowed

    def serves(self, endpoint_id: str) -> bool:
        """Whether messages to it are to be claimed; others wait for a courier with other settings."""
        return self._own is not None if endpoint_id == OWN_URL else self._allowed != "off"

    def to(self, endpoint_id: str) -> Target | None:
        """How a message gets there now, signed by all secrets that are good, the newest first; None where the
        endpoint is no more."""
        if endpoint_id == OWN_URL:
            return self._own
        with glancing(self._database) as session:
            query = select(WebhookEndpointRow, self._database.clock())
            found = session.execute(query.where(WebhookEndpointRow.id == endpoint_id)).one_or_none()
        if found is None:
            return None
        row, now = found
        secrets = [row.secret]
        if row.old_secret and row.old_secret_until and now < row.old_secret_until:
            secrets.append(row.old_secret)
        # Whatever the setting was when it was made: what may be reached now is what counts.
        reach: Literal["public", "private"] = "private" if self._allowed == "private" else "public"
        return Target(row.url, Signer(" ".join(secrets)), reach)

    def tests_wanted(self) -> list[str]:
        """Endpoints that a test message was asked for and not sent."""
        if self._allowed == "off":
            return []
        with glancing(self._database) as session:
            return list(session.scalars(select(WebhookEndpointRow.id).where(*_WANTED)))

    def take_test(self, endpoint_id: str) -> tuple[str, str] | None:
        """Id and body of an endpoint's test message, which the caller must send now: it is given out once.
        None where there is none to send."""
        with writing(self._database) as (session, now):
            mine = update(WebhookEndpointRow).where(WebhookEndpointRow.id == endpoint_id, *_WANTED)
            taken = mine.values(test_sent_at=now, test_error=_ON_ITS_WAY)
            shop = session.scalar(taken.returning(WebhookEndpointRow.shop_id))
        if shop is None:
            return None
        data = TestOrder(shop=shop, webhook=endpoint_id)
        return new_id("msg"), TestMessage(timestamp=datetime.now(UTC), data=data).model_dump_json()

    def note_test(self, endpoint_id: str, error: str) -> None:
        """How a test message went: empty when it was taken. One that was asked for since is left alone."""
        table = WebhookEndpointRow
        mine = table.id == endpoint_id, table.test_error == _ON_ITS_WAY
        with writing(self._database) as (session, _):
            session.execute(update(table).where(*mine).values(test_error=storable(error) or None))
