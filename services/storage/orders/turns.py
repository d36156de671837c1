"""Whose order is next: waiting orders take turns by shop, and in a shop by source.

A source is a till's key, or for a page its key with the address that the order came from. The shop
whose order was taken longest ago is next, and in it, tills before pages, the source whose order was. So
a source with a hundred orders waits for itself. A page's address has one order in hand at a time in each
stage, since it is not known beforehand which will take long.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, case, delete, func, or_, select, text, tuple_
from sqlalchemy.orm import Session

from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from schemas.shops.source import PAGE
from services.storage.base.changes import insert_into
from services.storage.base.scoping import of_shop
from services.storage.base.tables import WAITS, OrderRow, TurnRow

_SHOP, _NOBODY = "", "?"
_SOURCE = func.coalesce(OrderRow.source, _NOBODY)
_PAGED = case((OrderRow.source.startswith(PAGE), 1), else_=0)
_LONGEST_AGO = TurnRow.at.asc().nulls_first()


def claimable(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Conditions that an order is not held, and that it is time."""
    return (
        or_(OrderRow.lease_until.is_(None), OrderRow.lease_until <= now),
        or_(OrderRow.next_attempt_at.is_(None), OrderRow.next_attempt_at <= now),
    )


def next_shop(session: Session, now: datetime, state: State, shop: str) -> str | None:
    """The shop whose order is next for a stage; None where none waits that may be claimed. `shop`: among the
    orders of which shop, or of every."""
    return session.scalar(
        select(OrderRow.shop_id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == OrderRow.shop_id, TurnRow.source == _SHOP))
        .where(*_waiting(session, now, state), of_shop(OrderRow, shop))
        .order_by(_LONGEST_AGO, OrderRow.updated_at, OrderRow.id)
        .limit(1)
    )


def next_order(session: Session, now: datetime, state: State, shop: str) -> str | None:
    """The id of the shop's order that is next for a stage, locked where the database locks rows; None where
    others hold or lock all of them."""
    return session.scalar(
        select(OrderRow.id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == shop, TurnRow.source == _SOURCE))
        .where(*_waiting(session, now, state), OrderRow.shop_id == shop)
        .order_by(_PAGED, _LONGEST_AGO, OrderRow.updated_at, OrderRow.id)
        .limit(1)
        .with_for_update(of=OrderRow, skip_locked=True)
    )


def take(session: Session, now: datetime, order: OrderRecord) -> None:
    """Note that an order of this shop and source was claimed."""
    for source in (_SHOP, order.source or _NOBODY):
        row = insert_into(session, TurnRow).values(shop_id=order.shop, source=source, at=now)
        session.execute(
            row.on_conflict_do_update(index_elements=[TurnRow.shop_id, TurnRow.source], set_={"at": now})
        )


def holds_others_back(order: OrderRecord) -> bool:
    """Whether others of its source can't be claimed along with it: those of one page's address."""
    return order.source is not None and order.source.startswith(PAGE)


def waits_for(session: Session, now: datetime, order: OrderRecord) -> str | None:
    """An order of the same page's address that could not be claimed while this one was in hand."""
    return session.scalar(
        select(OrderRow.id)
        .where(
            text(WAITS),
            OrderRow.state == order.state.value,
            OrderRow.shop_id == order.shop,
            OrderRow.source == order.source,
            *claimable(now),
        )
        .limit(1)
    )


def forget(session: Session, now: datetime, older_than_s: float) -> int:
    """Drop the notes of who had no order for so many seconds; how many there were."""
    old = TurnRow.at < now - timedelta(seconds=older_than_s)
    return len(session.execute(delete(TurnRow).where(old).returning(TurnRow.source)).all())


def _waiting(session: Session, now: datetime, state: State) -> list[ColumnElement[bool]]:
    """Orders that wait for a stage and may be claimed, without those of a page's address that has one in
    hand there."""
    of_stage = and_(text(WAITS), OrderRow.state == state.value)
    busy = session.execute(
        select(OrderRow.shop_id, OrderRow.source).where(of_stage, OrderRow.lease_until > now, _PAGED == 1)
    ).all()
    free = or_(OrderRow.source.is_(None), tuple_(OrderRow.shop_id, OrderRow.source).not_in(busy))
    return [of_stage, *claimable(now), *([free] if busy else [])]
