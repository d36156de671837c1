"""What the courier asks of shops' webhook endpoints: how a message gets there, who wants a test message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select, update

from infra.database import Database
from services.storage.changes import glancing, writing
from services.storage.outbox import storable
from services.storage.tables_webhooks import WebhookEndpointRow

Allowed = Literal["off", "public", "private"]
"""The setting `webhook_endpoints`."""

_ON_ITS_WAY = "sent, and no answer was noted"
_WANTED = (WebhookEndpointRow.test_asked_at.is_not(None), WebhookEndpointRow.test_sent_at.is_(None))


@dataclass(frozen=True, slots=True)
class Way:
    """How a message gets to an endpoint: `secrets` are those that sign now, the newest first."""

    shop: str
    url: str
    secrets: tuple[str, ...]


class EndpointWays:
    """Of all shops. Every call is one transaction, and may raise StorageUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tests_wanted(self) -> list[str]:
        """Endpoints that a test message was asked for and not sent."""
        with glancing(self._database) as session:
            return list(session.scalars(select(WebhookEndpointRow.id).where(*_WANTED)))

    def take_test(self, endpoint_id: str) -> bool:
        """Whether the caller must send an endpoint's test message now: nobody else will."""
        with writing(self._database) as (session, now):
            mine = update(WebhookEndpointRow).where(WebhookEndpointRow.id == endpoint_id, *_WANTED)
            taken = mine.values(test_sent_at=now, test_error=_ON_ITS_WAY).returning(WebhookEndpointRow.id)
            return session.scalar(taken) is not None

    def note_test(self, endpoint_id: str, error: str) -> None:
        """How a test message went: empty when it was taken. One that was asked for since is left alone."""
        table = WebhookEndpointRow
        mine = table.id == endpoint_id, table.test_error == _ON_ITS_WAY
        with writing(self._database) as (session, _):
            session.execute(update(table).where(*mine).values(test_error=storable(error) or None))

    def way(self, endpoint_id: str) -> Way | None:
        """How to send to an endpoint now; None when it is no more."""
        with glancing(self._database) as session:
            query = select(WebhookEndpointRow, self._database.clock())
            found = session.execute(query.where(WebhookEndpointRow.id == endpoint_id)).one_or_none()
        if found is None:
            return None
        row, now = found
        secrets = [row.secret]
        if row.old_secret and row.old_secret_until and now < row.old_secret_until:
            secrets.append(row.old_secret)
        return Way(row.shop_id, row.url, tuple(secrets))
