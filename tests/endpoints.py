"""A webhook endpoint for tests that need webhook messages."""

from __future__ import annotations

from infra.sql.database import Database
from services.storage.base.tables import WebhookEndpointRow

TILL = "whk_till"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOWHERE = "http://127.0.0.1:9/"


def till(
    database: Database, url: str = NOWHERE, *, key: str = TILL, shop: str = "main", secret: str = SECRET
) -> str:
    """Register an endpoint for all of a shop's events; return its id."""
    everywhere = database.everywhere()
    with everywhere.write() as session:
        now = everywhere.now(session)
        session.merge(WebhookEndpointRow(id=key, shop_id=shop, url=url, secret=secret, created_at=now))
    return key
