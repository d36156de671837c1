"""Whose order is next: waiting orders take turns by shop, and in a shop by source, on measured seconds.

A source is a till's key, or for a page its key with the address that the order came from. Each shop, and each
source in its shop, has a clock of its own that runs while its orders are worked on; the one whose clock is
furthest behind is next (start-time fair queueing: https://dl.acm.org/doi/10.1109/90.649569). So a source with
a hundred orders, or one with dear ones, waits for itself. Who comes new, or back, starts where those who are
served now stand, and not at zero. In a shop tills go before pages. A page's address has one order in hand at
a time in each stage, since it is not known beforehand which will be dear.

A claim advances both clocks by `GUESS_S`, so that orders in hand count; when the order is put down the guess
gives way to the seconds by the database's clock. Those of a worker that died are the guess.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, TextClause, and_, case, delete, func, literal, or_, select, text, tuple_
from sqlalchemy.orm import Session

from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from schemas.shops.source import PAGE
from services.storage.base.changes import insert_into
from services.storage.base.scoping import of_shop
from services.storage.base.tables import SHOPS, WAITS, OrderRow, TurnRow
from services.storage.orders import leases

GUESS_S = 1.0
_SHOP, _NOBODY = "", "?"
_OF_SHOPS = text(SHOPS)
_PAGED = case((OrderRow.source.startswith(PAGE), 1), else_=0)


def next_shop(session: Session, now: datetime, state: State, shop: str) -> str | None:
    """The shop whose order is next for a stage; None where none waits that may be claimed. `shop`: among the
    orders of which shop, or of every."""
    return session.scalar(
        select(OrderRow.shop_id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == OrderRow.shop_id, TurnRow.source == _SHOP))
        .where(*_claimable(session, now, state), of_shop(OrderRow, shop))
        .order_by(_standing(session, _OF_SHOPS), OrderRow.updated_at, OrderRow.id)
        .limit(1)
    )


def next_order(session: Session, now: datetime, state: State, shop: str) -> str | None:
    """The id of the shop's order that is next for a stage, locked where the database locks rows; None where
    others hold or lock all of them."""
    among = and_(TurnRow.shop_id == shop, TurnRow.source != _SHOP)
    return session.scalar(
        select(OrderRow.id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == shop, TurnRow.source == OrderRow.source))
        .where(*_claimable(session, now, state), OrderRow.shop_id == shop)
        .order_by(_PAGED, _standing(session, among), OrderRow.updated_at, OrderRow.id)
        .limit(1)
        .with_for_update(of=OrderRow, skip_locked=True)
    )


def begin(session: Session, now: datetime, order: OrderRecord) -> None:
    """Put a claimed order's guess on the clocks of its shop and source."""
    for source, among in (
        (_SHOP, _OF_SHOPS),
        (order.source or _NOBODY, and_(TurnRow.shop_id == order.shop, TurnRow.source != _SHOP)),
    ):
        stands = _served_now(session, among)
        row = insert_into(session, TurnRow).values(
            shop_id=order.shop, source=source, begun=stands, spent=stands + GUESS_S, at=now
        )
        own = case((TurnRow.spent > stands, TurnRow.spent), else_=literal(stands))
        session.execute(
            row.on_conflict_do_update(
                index_elements=[TurnRow.shop_id, TurnRow.source],
                set_={"begun": own, "spent": own + GUESS_S, "at": now},
            )
        )


def end(session: Session, now: datetime, order: OrderRecord) -> None:
    """Replace the guess of an order that its worker puts down by the seconds since its claim."""
    if order.claimed_at is None:
        return
    took = max(0.0, (now - order.claimed_at).total_seconds()) - GUESS_S
    for source in (_SHOP, order.source or _NOBODY):
        if (row := session.get(TurnRow, (order.shop, source), with_for_update=True)) is not None:
            row.spent += took
    session.flush()


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
            *leases.claimable(now),
        )
        .limit(1)
    )


def forget(session: Session, now: datetime, older_than_s: float) -> int:
    """Drop the clocks of who had no order for so many seconds; how many there were."""
    old = TurnRow.at < now - timedelta(seconds=older_than_s)
    return len(session.execute(delete(TurnRow).where(old).returning(TurnRow.source)).all())


def _claimable(session: Session, now: datetime, state: State) -> list[ColumnElement[bool]]:
    """Orders that wait for a stage and may be claimed, without those of a page's address that has one in
    hand there."""
    of_stage = and_(text(WAITS), OrderRow.state == state.value)
    busy = session.execute(
        select(OrderRow.shop_id, OrderRow.source).where(of_stage, OrderRow.lease_until > now, _PAGED == 1)
    ).all()
    free = or_(OrderRow.source.is_(None), tuple_(OrderRow.shop_id, OrderRow.source).not_in(busy))
    return [of_stage, *leases.claimable(now), *([free] if busy else [])]


def _standing(session: Session, among: ColumnElement[bool] | TextClause) -> ColumnElement[float]:
    """The clock of the row that was joined, no further back than where those among which it takes turns are
    served."""
    stands = _served_now(session, among)
    return case((TurnRow.spent > stands, TurnRow.spent), else_=literal(stands))


def _served_now(session: Session, among: ColumnElement[bool] | TextClause) -> float:
    return session.scalar(select(func.max(TurnRow.begun)).where(among)) or 0.0
