"""Webhook endpoints of shops: URL, events, and the secret that messages are signed with.

A secret is shown once. To change it, add an endpoint and remove the old one.
"""

from __future__ import annotations

import base64
import builtins
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from sqlalchemy import and_, delete, func, select

from infra.outward import AddressRefused, resolved, usable
from infra.sql.database import Database
from infra.webhooks import PREFIX, Target
from schemas.errors import Conflict, InputError
from schemas.shops.audit import Actor
from schemas.shops.webhook import EVENTS, MAX_ENDPOINTS, Allowed, Endpoint, Till
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.ids import new_id
from services.storage.base.mapping import fields_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import OutboxRow, WebhookEndpointRow
from services.storage.outbox.store import IS_DEAD, IS_OPEN

_LOCATED = ("square", "toast")
"""Tills whose orders need a location."""


class EndpointStore(OfShop):
    """Endpoints of one shop, or of all for operators. Each call is one transaction."""

    def __init__(self, database: Database, shop: str, allowed: Allowed = "off") -> None:
        """`allowed`: the setting `webhook_endpoints`."""
        super().__init__(database, shop)
        self._allowed = allowed

    def add(
        self,
        shop: str,
        url: str,
        events: Sequence[str] | None = None,
        *,
        by: Actor,
        till: Till | None = None,
        location: str | None = None,
    ) -> tuple[Endpoint, str]:
        """Create an endpoint; return it with its secret, which is never shown again.

        Raises:
            InputError: an invalid URL, events or till.
            NotFound: an unknown shop.
            Conflict: endpoints are turned off, or the shop has the maximum number.
        """
        self._check_url(url)
        if till in _LOCATED and location is None:
            raise InputError(f"A {till} order needs a location", hint="Name its location: see docs/tills.md.")
        secret, named = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode(), _checked(events)
        with writing(self._database) as (session, now):
            self._check_shop(session, shop)
            self._database.lock(session, f"webhooks:{shop}")
            mine = select(func.count()).where(WebhookEndpointRow.shop_id == shop)
            if (session.scalar(mine) or 0) >= MAX_ENDPOINTS:
                raise Conflict(f"A shop has at most {MAX_ENDPOINTS} endpoints", hint="Remove one first.")
            row = WebhookEndpointRow(
                id=new_id("whk"),
                shop_id=shop,
                url=url,
                secret=secret,
                events=named,
                till=till,
                location=location,
                created_at=now,
            )
            session.add(row)
            record(session, now, by, "webhook.added", ("webhook", row.id), shop=shop, after=_shown(row))
            return _endpoint(row), secret

    def list(self) -> builtins.list[Endpoint]:
        """List all endpoints, oldest first, with their numbers of waiting and dead messages."""
        table = WebhookEndpointRow
        with self._database.read() as session:
            unsent = and_(OutboxRow.endpoint_id == table.id, OutboxRow.delivered_at.is_(None))
            waiting = func.count(OutboxRow.id).filter(IS_OPEN)
            query = select(table, waiting, func.count().filter(IS_DEAD)).outerjoin(OutboxRow, unsent)
            query = query.where(of_shop(table, self._shop)).group_by(table.id)
            query = query.order_by(table.created_at, table.id)
            return [_endpoint(row, waiting, dead) for row, waiting, dead in session.execute(query)]

    def remove(self, endpoint_id: str, *, by: Actor) -> int:
        """Delete an endpoint and its undelivered messages; return how many there were. Raises NotFound."""
        with writing(self._database) as (session, now):
            row = self._one(session, WebhookEndpointRow, endpoint_id, hold=True)
            unsent = OutboxRow.endpoint_id == endpoint_id, OutboxRow.delivered_at.is_(None)
            dropped = len(session.scalars(delete(OutboxRow).where(*unsent).returning(OutboxRow.id)).all())
            session.delete(row)
            about, was, after = ("webhook", endpoint_id), _shown(row), {"withdrawn": dropped}
            record(session, now, by, "webhook.removed", about, shop=row.shop_id, before=was, after=after)
            return dropped

    def target(self, endpoint_id: str) -> Target | None:
        """Return where and how messages are sent; None if the endpoint was deleted."""
        table = WebhookEndpointRow
        with self._database.glance() as session:
            query = select(table).where(table.id == endpoint_id, of_shop(table, self._shop))
            row = session.scalars(query).one_or_none()
            if row is None:
                return None
            private = self._allowed == "private"
            return Target(row.url, row.secret, private, cast("Till | None", row.till), row.location)

    def _check_url(self, text: str) -> None:
        if self._allowed == "off":
            raise Conflict(
                "Shops can't have their own webhook endpoints in this deployment",
                hint="The operator can set SAYCART_WEBHOOK_ENDPOINTS to `public` or `private`.",
            )
        private = self._allowed == "private"
        try:
            url = usable(text, private=private)
            with suppress(OSError):  # the name may be resolved later
                resolved(url, private=private)
        except AddressRefused as error:
            hint = "An https address that the internet can reach."
            if not private:
                hint += " SAYCART_WEBHOOK_ENDPOINTS=private allows private networks."
            raise InputError(f"This URL can't be used: {error}", hint=hint) from None


def _checked(events: Sequence[str] | None) -> list[Any] | None:
    if events is None:
        return None
    if unknown := sorted(set(events).difference(EVENTS)):
        raise InputError(
            f"No such event: {', '.join(unknown)[:200]}", hint=f"Of {', '.join(sorted(EVENTS))}."
        )
    if not events:
        raise InputError("An endpoint needs at least one event", hint="Choose some, or leave it out for all.")
    return sorted(set(events))


def _shown(row: WebhookEndpointRow) -> dict[str, Any]:
    """Return an endpoint's entry in the audit log, without the secret and the URL's path, which may contain a
    token."""
    return {"origin": _endpoint(row).origin, "events": row.events, "till": row.till}


def _endpoint(row: WebhookEndpointRow, waiting: int = 0, dead: int = 0) -> Endpoint:
    events = None if row.events is None else tuple(map(str, row.events))
    given = {"shop": row.shop_id, "events": events, "waiting": waiting, "dead": dead}
    return Endpoint(**fields_of(row, Endpoint) | given)
