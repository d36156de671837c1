"""Webhook endpoints of a shop: their URLs, their events, and the secrets that messages are signed with.

A secret is shown when it is made and never again. After a rotation two sign until the overlap is over. What
the courier asks of them: `endpoint_ways.py`.
"""

from __future__ import annotations

import base64
import builtins
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from infra.outward import AddressRefused, resolved, usable
from infra.sql.database import Database
from infra.webhooks import PREFIX
from schemas.errors import Conflict, InputError, NotFound
from schemas.shops.audit import Actor
from schemas.shops.endpoint import MAX_ENDPOINTS, Allowed, Endpoint
from schemas.shops.webhook import TYPES
from services.storage.audit.log import record
from services.storage.base.changes import reading, writing
from services.storage.base.ids import new_id
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow
from services.storage.outbox.outbox_order import is_dead, is_open


class EndpointStore(OfShop):
    """Endpoints of a shop, or of all for operators. A call is one transaction or two."""

    def __init__(self, database: Database, shop: str, allowed: Allowed = "off") -> None:
        """`allowed`: the setting `webhook_endpoints`."""
        super().__init__(database, shop)
        self._allowed = allowed

    def add(
        self, shop: str, url: str, events: Sequence[str] | None = None, *, enabled: bool = True, by: Actor
    ) -> tuple[Endpoint, str]:
        """Make an endpoint; it, and the secret that is never shown again.

        Raises:
            InputError: a URL or events that can't be used.
            NotFound: no such shop.
            Conflict: endpoints are off here, or the shop has as many as it may.
        """
        self._check_url(url)
        secret, named = _new_secret(), _checked(events)
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
                created_at=now,
                disabled_at=None if enabled else now,
            )
            session.add(row)
            _record(session, now, by, "added", row, after=_shown(row))
            return _endpoint(row), secret

    def list(self) -> builtins.list[Endpoint]:
        """Every endpoint, oldest first, with what waits for each and what died."""
        with reading(self._database) as session:
            return _found(session, of_shop(WebhookEndpointRow, self._shop))

    def get(self, endpoint_id: str) -> Endpoint:
        """Raises NotFound."""
        with reading(self._database) as session:
            mine = of_shop(WebhookEndpointRow, self._shop), WebhookEndpointRow.id == endpoint_id
            for one in _found(session, *mine):
                return one
        raise _unknown(endpoint_id)

    def change(self, endpoint_id: str, changed: Mapping[str, Any], *, by: Actor) -> Endpoint:
        """Set some of `url`, `events` and `enabled`. A disabled endpoint gets nothing new; what waits for
        it stays until it is enabled.

        Raises:
            InputError, Conflict: as `add`.
            NotFound: no such endpoint.
        """
        if "url" in changed:
            self._check_url(changed["url"])
        with writing(self._database) as (session, now):
            row = self._existing(session, endpoint_id)
            before = _shown(row)
            if "url" in changed:
                row.url = changed["url"]
            if "events" in changed:
                row.events = _checked(changed["events"])
            if "enabled" in changed:
                row.disabled_at = None if changed["enabled"] else row.disabled_at or now
            _record(session, now, by, "changed", row, before=before, after=_shown(row))
        return self.get(endpoint_id)

    def rotate(self, endpoint_id: str, overlap_s: float, *, by: Actor) -> tuple[Endpoint, str]:
        """A new secret; the old one signs too for `overlap_s` seconds. The endpoint, and the secret
        that is never shown again.

        Raises:
            NotFound: no such endpoint.
        """
        secret = _new_secret()
        with writing(self._database) as (session, now):
            row = self._existing(session, endpoint_id)
            until = now + timedelta(seconds=overlap_s)
            row.old_secret, row.old_secret_until = (row.secret, until) if overlap_s > 0 else (None, None)
            row.secret = secret
            _record(session, now, by, "rotated", row, after={"old_until": until.isoformat()})
        return self.get(endpoint_id), secret

    def remove(self, endpoint_id: str, *, by: Actor) -> int:
        """Remove an endpoint with its secrets and all its messages that were not delivered; how many.

        Raises:
            NotFound: no such endpoint.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session, endpoint_id)
            unsent = OutboxRow.endpoint_id == endpoint_id, OutboxRow.delivered_at.is_(None)
            dropped = len(session.scalars(delete(OutboxRow).where(*unsent).returning(OutboxRow.id)).all())
            session.delete(row)
            after = {"withdrawn": dropped}
            _record(session, now, by, "removed", row, before=_shown(row), after=after)
            return dropped

    def ask_test(self, endpoint_id: str, *, by: Actor) -> Endpoint:
        """Have the courier send a test message, once; `test_sent_at` and `test_error` then tell how it went.

        Raises:
            NotFound: no such endpoint.
            Conflict: endpoints are off here.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session, endpoint_id)
            self._check_on()
            row.test_asked_at, row.test_sent_at, row.test_error = now, None, None
            _record(session, now, by, "test_asked", row)
        return self.get(endpoint_id)

    def _check_on(self) -> None:
        if self._allowed == "off":
            raise Conflict(
                "Shops can't have their own webhook endpoints in this deployment",
                hint="The operator can set SAYCART_WEBHOOK_ENDPOINTS to `public` or `private`.",
            )

    def _check_url(self, text: str) -> None:
        self._check_on()
        private = self._allowed == "private"
        try:
            url = usable(text, private=private)
            # A name that does not resolve yet may do so by the time that something is sent.
            with suppress(OSError):
                resolved(url, private=private)
        except AddressRefused as error:
            hint = "An https address that the internet can reach."
            if not private:
                hint += " SAYCART_WEBHOOK_ENDPOINTS=private allows private networks."
            raise InputError(f"This URL can't be used: {error}", hint=hint) from None

    def _existing(self, session: Session, endpoint_id: str) -> WebhookEndpointRow:
        row = self._owned(session, WebhookEndpointRow, endpoint_id, hold=True)
        if row is None:
            raise _unknown(endpoint_id)
        return row


def _record(
    session: Session,
    now: datetime,
    by: Actor,
    action: str,
    row: WebhookEndpointRow,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """One entry of the audit log: no secret, and of the URL no path, where some put a token."""
    session.flush()
    about = ("webhook", row.id)
    record(session, now, by, f"webhook.{action}", about, shop=row.shop_id, before=before, after=after)


def _checked(events: Sequence[str] | None) -> list[Any] | None:
    if events is None:
        return None
    known = frozenset(TYPES.values())
    if unknown := sorted(set(events) - known):
        raise InputError(f"No such event: {', '.join(unknown)[:200]}", hint=f"Of {', '.join(sorted(known))}.")
    if not events:
        raise InputError("An endpoint needs at least one event", hint="Choose some, or disable the endpoint.")
    return sorted(set(events))


def _new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def _shown(row: WebhookEndpointRow) -> dict[str, Any]:
    scheme, _, rest = row.url.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"
    return {"origin": origin, "events": row.events, "enabled": row.disabled_at is None}


def _found(session: Session, *which: ColumnElement[bool]) -> list[Endpoint]:
    table = WebhookEndpointRow
    rows = session.scalars(select(table).where(*which).order_by(table.created_at, table.id)).all()
    ids = [row.id for row in rows]
    waiting, dead = (_counted(session, ids, state) for state in (is_open(), is_dead()))
    return [_endpoint(row, waiting.get(row.id, 0), dead.get(row.id, 0)) for row in rows]


def _counted(session: Session, ids: list[str], state: ColumnElement[bool]) -> dict[str, int]:
    query = select(OutboxRow.endpoint_id, func.count()).where(OutboxRow.endpoint_id.in_(ids), state)
    found = session.execute(query.group_by(OutboxRow.endpoint_id)).all() if ids else []
    return {key: count for key, count in found}


def _endpoint(row: WebhookEndpointRow, waiting: int = 0, dead: int = 0) -> Endpoint:
    return Endpoint(
        id=row.id,
        shop=row.shop_id,
        url=row.url,
        events=None if row.events is None else tuple(map(str, row.events)),
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        old_secret_until=row.old_secret_until,
        test_asked_at=row.test_asked_at,
        test_sent_at=row.test_sent_at,
        test_error=row.test_error,
        waiting=waiting,
        dead=dead,
    )


def _unknown(endpoint_id: str) -> NotFound:
    return NotFound(f"No webhook {endpoint_id[:60]}", hint="`saycart webhooks endpoints` shows every one.")
