"""Chooses the next order: waiting orders take turns by shop, and within it by source, on measured seconds.

A source is a till's key, or a page's key with the customer's address. Each shop, and each source in its shop,
has a clock that runs while its orders are worked on; the one furthest behind is next (start-time fair
queueing: https://dl.acm.org/doi/10.1109/90.649569). So a source with many or slow orders delays only itself.
A new or returning source starts where the currently served ones are, not at zero.

- Tills go before pages.
- Pages at one address have one held order per stage, and `page_s` seconds of work per minute. With more than
  `CROWD_SIZE` waiting orders they come after all others.
- An order on a menu that is new to the model, and its source's other orders, come last; after `MENU_GAP_S`
  one is tried.

A claim advances both clocks by `ESTIMATE_S`; the measured seconds replace the estimate when the order is
released. If a cancellation or another worker ends the claim, it is charged until then, or until the worker's
last sign of life, and the estimate stays for what the worker does until it notices. Rows also hold the
seconds used in a minute, by which the API refuses orders.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Select,
    TextClause,
    and_,
    case,
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

ESTIMATE_S = 1.0
MAX_S = 240.0
"""The most that a claim is charged, if its machine was suspended: longer than any stage with its lease."""
MENU_GAP_S = 20.0
"""Less than the engine's `ABANDONED_S`."""
CROWD_SIZE = 5
MINUTE_S = 60
_SHOP, _NO_SOURCE = "", "?"
_OF_SHOPS = text(SHOPS)
_SOURCE = func.coalesce(OrderRow.source, _NO_SOURCE)
_IS_PAGE = case((OrderRow.source.startswith(PAGE), 1), else_=0)


def claimable(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that an order isn't held, and is due."""
    return (
        or_(OrderRow.lease_until.is_(None), OrderRow.lease_until <= now),
        or_(OrderRow.next_attempt_at.is_(None), OrderRow.next_attempt_at <= now),
    )


def next_shop(session: Session, now: datetime, state: State, shop: str, page_s: float) -> str | None:
    """Return the shop whose order is next for a stage, None if no order can be claimed. `shop` limits the
    choice to one shop."""
    return session.scalar(
        select(OrderRow.shop_id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == OrderRow.shop_id, TurnRow.source == _SHOP))
        .where(*_waiting(session, now, state, page_s), of_shop(OrderRow, shop))
        .order_by(
            _later(now, state),
            _crowded(),
            _clock(_latest_start(session, _OF_SHOPS)),
            OrderRow.updated_at,
            OrderRow.id,
        )
        .limit(1)
    )


def next_order(session: Session, now: datetime, state: State, shop: str, page_s: float) -> str | None:
    """Return the id of the shop's order that is next for a stage, locked on PostgreSQL; None if other workers
    hold or lock all of them."""
    return session.scalar(
        select(OrderRow.id)
        .outerjoin(TurnRow, and_(TurnRow.shop_id == shop, TurnRow.source == _SOURCE))
        .where(*_waiting(session, now, state, page_s), OrderRow.shop_id == shop)
        .order_by(
            _later(now, state),
            _IS_PAGE,
            _crowded(),
            _clock(_latest_start(session, _sources_of(shop))),
            OrderRow.updated_at,
            OrderRow.id,
        )
        .limit(1)
        .with_for_update(of=OrderRow, skip_locked=True)
    )


def begin(session: Session, now: datetime, order: OrderRecord) -> None:
    """Advance the clocks of a claimed order's shop and source by the estimate."""
    minute = _minute(now)
    used = case((TurnRow.minute == minute, TurnRow.used), else_=0.0)
    for source, others in _clocks(order):
        start = _latest_start(session, others)
        own = _clock(start)
        row = insert_into(session, TurnRow).values(
            shop_id=order.shop,
            source=source,
            begun=start,
            spent=start + ESTIMATE_S,
            at=now,
            minute=0,
            used=0.0,
        )
        session.execute(
            row.on_conflict_do_update(
                index_elements=[TurnRow.shop_id, TurnRow.source],
                set_={"begun": own, "spent": own + ESTIMATE_S, "at": now, "minute": minute, "used": used},
            )
        )


def end(
    session: Session, now: datetime, order: OrderRecord, *, menu: bool = False, seen: datetime | None = None
) -> None:
    """Replace a released order's estimate by the seconds since its claim. They don't count as `used` if the
    model read a new `menu`, which `MENU_GAP_S` limits. `seen`: when the worker was last alive, if another
    releases the order."""
    if order.claimed_at is None:
        return
    took = min(MAX_S, max(0.0, ((seen or now) - order.claimed_at).total_seconds()))
    took += ESTIMATE_S if seen else 0.0
    minute, counts = _minute(now), 0.0 if menu else took
    used = case((TurnRow.minute == minute, TurnRow.used + counts), else_=counts)
    columns = {"spent": TurnRow.spent + took - ESTIMATE_S, "at": now, "minute": minute, "used": used}
    for source, _ in _clocks(order):
        own = TurnRow.shop_id == order.shop, TurnRow.source == source
        session.execute(update(TurnRow).where(*own).values(columns))


def held_back(session: Session, now: datetime, page_s: float) -> ColumnElement[bool]:
    """Return the condition that the seconds of an order's address are used up for this minute."""
    sources = session.execute(_used_up(now, page_s)).all()
    return tuple_(OrderRow.shop_id, _SOURCE).in_(sources)


def _waiting(session: Session, now: datetime, state: State, page_s: float) -> list[ColumnElement[bool]]:
    """Return the conditions that an order waits for a stage and can be claimed: no other of its page's
    address is held there, and the address has seconds left."""
    of_stage = and_(text(WAITS), OrderRow.state == state.value)
    busy = select(OrderRow.shop_id, OrderRow.source).where(
        of_stage, OrderRow.lease_until > now, _IS_PAGE == 1
    )
    held = session.execute(busy.union(_used_up(now, page_s))).all()
    free = or_(OrderRow.source.is_(None), tuple_(OrderRow.shop_id, OrderRow.source).not_in(held))
    return [of_stage, *claimable(now), *([free] if held else [])]


def _used_up(now: datetime, page_s: float) -> Select[str, str]:
    """Select the shops and sources of pages that had `page_s` seconds of work in this minute; 0: none."""
    return select(TurnRow.shop_id, TurnRow.source).where(
        TurnRow.at > now - timedelta(seconds=MINUTE_S),
        TurnRow.minute == _minute(now),
        TurnRow.used >= (page_s or math.inf),
        TurnRow.source.startswith(PAGE),
    )


def _minute(now: datetime) -> int:
    return int(now.timestamp() // MINUTE_S)


def _later(now: datetime, state: State) -> ColumnElement[int]:
    """Return 2 for an order that was handed back because of a new menu, 1 for others of its source, and 0 for
    the rest; 0 for all if none was tried for `MENU_GAP_S`."""
    back = aliased(OrderRow)
    handed_back = (
        text(WAITS),
        back.state == state.value,
        back.attempt == 0,
        back.next_attempt_at.is_not(None),
    )
    lately = select(back.id).where(*handed_back, back.next_attempt_at > now - timedelta(seconds=MENU_GAP_S))
    sources = select(back.shop_id, func.coalesce(back.source, _NO_SOURCE)).where(*handed_back)
    itself = and_(OrderRow.attempt == 0, OrderRow.next_attempt_at.is_not(None))
    its_source = tuple_(OrderRow.shop_id, _SOURCE).in_(sources)
    return case((~lately.exists(), 0), (itself, 2), (its_source, 1), else_=0)


def _crowded() -> ColumnElement[int]:
    """Return 1 for an order from a page's address with more than `CROWD_SIZE` orders waiting in any stage,
    otherwise 0."""
    waits = aliased(OrderRow)
    crowds = (
        select(waits.shop_id, waits.source)
        .where(text(WAITS), waits.source.startswith(PAGE))
        .group_by(waits.shop_id, waits.source)
        .having(func.count() > CROWD_SIZE)
    )
    return case((tuple_(OrderRow.shop_id, OrderRow.source).in_(crowds), 1), else_=0)


def _clocks(order: OrderRecord) -> tuple[tuple[str, ColumnElement[bool] | TextClause], ...]:
    """Return the sources of the order's two clocks, and the conditions of those that each competes with."""
    return (_SHOP, _OF_SHOPS), (order.source or _NO_SOURCE, _sources_of(order.shop))


def _sources_of(shop: str) -> ColumnElement[bool]:
    return and_(TurnRow.shop_id == shop, TurnRow.source != _SHOP)


def _latest_start(session: Session, others: ColumnElement[bool] | TextClause) -> float:
    """Return the time of the clock whose order was claimed last."""
    return session.scalar(select(func.max(TurnRow.begun)).where(others)) or 0.0


def _clock(start: float) -> ColumnElement[float]:
    """Return the row's clock, but at least `start`."""
    return case((TurnRow.spent > start, TurnRow.spent), else_=literal(start))
