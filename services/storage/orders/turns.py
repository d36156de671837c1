"""Whose order is next: waiting orders take turns by shop, and in a shop by source, on measured seconds.

A source is a till's key, or for a page its key with the address that the order came from. Each shop, and
each source in its shop, has a clock that runs while its orders are worked on; the one whose clock is furthest
behind is next (start-time fair queueing: https://dl.acm.org/doi/10.1109/90.649569). So a source with a
hundred orders, or with a few that take long, waits for itself. A source that is new, or back, starts where
those that are served now stand, and not at zero. In a shop tills go before pages. A page's address has one
order in hand at a time in each stage, since it is not known beforehand which will take long, and `PAGE_S` of
work a minute; with more than `CROWD` waiting it comes after all others. An order that was handed back because
its menu is new waits until no other does, and its source's orders with it, which may be on new menus, too;
after `GAP_S` one is tried.

A claim advances both clocks by `GUESS_S`, so that orders in hand count; when the order is put down, the
seconds by the database's clock replace the guess. Those of a worker that died are the guess. A row also holds
the seconds of its last minute at work, by which the API refuses orders.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    TextClause,
    and_,
    case,
    delete,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.orm import Session, aliased

from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from schemas.shops.access import PAGE
from services.storage.base.changes import insert_into
from services.storage.base.scoping import of_shop
from services.storage.base.tables import SHOPS, WAITS, OrderRow, TurnRow

GUESS_S = 1.0
GAP_S = 20.0
"""A new menu is read on after so long, however many orders wait: less than the engine's `ABANDONED_S`."""
CROWD = 5
"""A page's customer waits for one order or two; who has more of them waiting is served after the others."""
PAGE_S = 30.0
"""Seconds of work in a minute after which a page's address waits for the next minute, though no other order
does: each that is in hand is one more that a till's order waits for."""
_SHOP, _NOBODY = "", "?"
_OF_SHOPS = text(SHOPS)
_SOURCE = func.coalesce(OrderRow.source, _NOBODY)
_PAGED = case((OrderRow.source.startswith(PAGE), 1), else_=0)


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
        .order_by(
            _later(now, state),
            _crowded(),
            _clock(_stands(session, _OF_SHOPS)),
            OrderRow.updated_at,
            OrderRow.id,
        )
        .limit(1)
    )


def next_order(session: Session, now: datetime, state: State, shop: str) -> str | None:
    """The id of the shop's order that is next for a stage, locked where the database locks rows; None where
    others hold or lock all of them."""
    return session.scalar(
        select(OrderRow.id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == shop, TurnRow.source == _SOURCE))
        .where(*_waiting(session, now, state), OrderRow.shop_id == shop)
        .order_by(
            _later(now, state),
            _PAGED,
            _crowded(),
            _clock(_stands(session, _sources_of(shop))),
            OrderRow.updated_at,
            OrderRow.id,
        )
        .limit(1)
        .with_for_update(of=OrderRow, skip_locked=True)
    )


def begin(session: Session, now: datetime, order: OrderRecord) -> None:
    """Put a claimed order's guess on the clocks of its shop and source."""
    minute = _minute(now)
    used = case((TurnRow.minute == minute, TurnRow.used), else_=0.0)  # those of an earlier minute are over
    for source, among in _clocks(order):
        stands = _stands(session, among)
        own = _clock(stands)
        row = insert_into(session, TurnRow).values(
            shop_id=order.shop,
            source=source,
            begun=stands,
            spent=stands + GUESS_S,
            at=now,
            minute=0,
            used=0.0,
        )
        session.execute(
            row.on_conflict_do_update(
                index_elements=[TurnRow.shop_id, TurnRow.source],
                set_={"begun": own, "spent": own + GUESS_S, "at": now, "minute": minute, "used": used},
            )
        )


def end(session: Session, now: datetime, order: OrderRecord, *, menu: bool = False) -> None:
    """Replace the guess of an order that its worker puts down by the seconds since its claim. They are not
    `used` where a part of a new `menu` was read: the gaps limit that, and it is no customer's doing."""
    if order.claimed_at is None:
        return
    took = max(0.0, (now - order.claimed_at).total_seconds())
    minute, counts = _minute(now), 0.0 if menu else took
    used = case((TurnRow.minute == minute, TurnRow.used + counts), else_=counts)
    for source, _ in _clocks(order):
        own = TurnRow.shop_id == order.shop, TurnRow.source == source
        row = {"spent": TurnRow.spent + took - GUESS_S, "at": now, "minute": minute, "used": used}
        session.execute(update(TurnRow).where(*own).values(row))


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
    """Drop the clocks of who had no order for so many seconds; how many there were."""
    old = TurnRow.at < now - timedelta(seconds=older_than_s)
    return len(session.execute(delete(TurnRow).where(old).returning(TurnRow.source)).all())


def _waiting(session: Session, now: datetime, state: State) -> list[ColumnElement[bool]]:
    """Orders that wait for a stage and may be claimed, without those of a page's address that has one in
    hand there, or had `PAGE_S` of work in this minute."""
    of_stage = and_(text(WAITS), OrderRow.state == state.value)
    busy = select(OrderRow.shop_id, OrderRow.source).where(of_stage, OrderRow.lease_until > now, _PAGED == 1)
    worked = select(TurnRow.shop_id, TurnRow.source).where(
        TurnRow.at > now - timedelta(minutes=1),
        TurnRow.minute == _minute(now),
        TurnRow.used >= PAGE_S,
        TurnRow.source.startswith(PAGE),
    )
    held = session.execute(busy.union(worked)).all()
    free = or_(OrderRow.source.is_(None), tuple_(OrderRow.shop_id, OrderRow.source).not_in(held))
    return [of_stage, *claimable(now), *([free] if held else [])]


def _minute(now: datetime) -> int:
    return int(now.timestamp() // 60)


def _later(now: datetime, state: State) -> ColumnElement[int]:
    """2 for an order that was handed back while its menu is new, 1 for the others of its source, 0 for the
    rest; 0 for all where none was tried for `GAP_S`, so that a hundred take no more turns than one."""
    back = aliased(OrderRow)
    handed_back = (
        text(WAITS),
        back.state == state.value,
        back.attempt == 0,
        back.next_attempt_at.is_not(None),
    )
    lately = select(back.id).where(*handed_back, back.next_attempt_at > now - timedelta(seconds=GAP_S))
    sources = select(back.shop_id, func.coalesce(back.source, _NOBODY)).where(*handed_back)
    itself = and_(OrderRow.attempt == 0, OrderRow.next_attempt_at.is_not(None))
    its_source = tuple_(OrderRow.shop_id, _SOURCE).in_(sources)
    return case((~lately.exists(), 0), (itself, 2), (its_source, 1), else_=0)


def _crowded() -> ColumnElement[int]:
    """1 for an order of a page's address that has more than `CROWD` waiting in its shop, in any stage: of
    many recordings few have been transcribed. 0 for the others."""
    waits = aliased(OrderRow)
    crowds = (
        select(waits.shop_id, waits.source)
        .where(text(WAITS), waits.source.startswith(PAGE))
        .group_by(waits.shop_id, waits.source)
        .having(func.count() > CROWD)
    )
    return case((tuple_(OrderRow.shop_id, OrderRow.source).in_(crowds), 1), else_=0)


def _clocks(order: OrderRecord) -> tuple[tuple[str, ColumnElement[bool] | TextClause], ...]:
    """The order's clocks, and among which each takes turns."""
    return (_SHOP, _OF_SHOPS), (order.source or _NOBODY, _sources_of(order.shop))


def _sources_of(shop: str) -> ColumnElement[bool]:
    return and_(TurnRow.shop_id == shop, TurnRow.source != _SHOP)


def _stands(session: Session, among: ColumnElement[bool] | TextClause) -> float:
    """Where those clocks stand whose orders were taken last."""
    return session.scalar(select(func.max(TurnRow.begun)).where(among)) or 0.0


def _clock(stands: float) -> ColumnElement[float]:
    """The row's clock, no further back than where the others stand."""
    return case((TurnRow.spent > stands, TurnRow.spent), else_=literal(stands))
