"""The audit log: who did what to which thing, before and after. One chain of hashes a shop.

| action | object | before, after |
|---|---|---|
| `menu.imported`, `menu.edited` | `menu` | version, digest, and what differs, by JSON pointers of ids |
| `menu.followed` | `menu` | likewise, of a chain's menu; `unused`: the shop's prices that fit it no more |
| `price.changed` | `menu` | the prices that differ, likewise, and the version |
| `account.added`, `account.disabled` | `account` | whether it is disabled |
| `account.role` | `account` | the role |
| `account.invited`, `account.bound`, `account.unbound` | `account` | the provider, and who it is there |
| `password.set` | `account` | nothing |
| `second_step.on`, `.off`, `.reset` | `account` | how many recovery codes there are; whether there was one |
| `recovery_codes.made`, `recovery_code.used` | `account` | how many there are now |
| `key.added`, `key.rotated`, `key.revoked` | `key` | name, scopes, person, family, end |
| `webhook.added`, `.changed`, `.rotated`, `.removed`, `.test_asked` | `webhook` | its URL's origin, events |
| `sign_in.by_provider` | `account` | the provider |
| `sign_in.refused` | `account`, or `identity` where it is nobody's | the provider, and why in a word |
| `order.erased` | `order` | whether a recording went too; of retention for orders with a review alone |
| `retention.carried_out` | `shop` | how many recordings, transcripts or orders, and which end they had |
| `shop.keeps` | `shop` | the days that differ |
| `shop.menus_of` | `shop` | the shop that it has its menus from |
| `review.decided`, `review.awaits_second` | `review` | totals, the decision, the seal of its record |

What a reviewer did in full is in `review_records` alone, which can be erased with its order; the entry holds
a seal of it: see `review_log.seal_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, tuple_
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.shops.audit import (
    GENESIS,
    Actor,
    Chain,
    Entry,
    Head,
    digest_of,
    stamp,
    told,
)
from services.storage.audit.seals import Seals
from services.storage.base.changes import reading
from services.storage.base.tables import AuditRow

PAGE = 500
_COLUMNS = [getattr(AuditRow, field.name) for field in fields(Entry)]


def record(
    database: Database,
    session: Session,
    now: datetime,
    *,
    shop: str,
    by: Actor,
    action: str,
    about: tuple[str, str],
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> Head:
    """Append one entry inside the caller's write transaction, so that neither it nor the act is ever alone.

    `about` is type and id of the object; `before` and `after` hold what changed and nothing else, of plain
    JSON values. To be called last: the chain is locked from here to the commit, and whoever took another lock
    after it could wait in a circle.

    Raises:
        ValueError: a field named like a secret or like a customer's words.
    """
    database.lock(session, f"audit:{shop}")
    newest = select(AuditRow.seq, AuditRow.hash).where(AuditRow.shop_id == shop)
    seq, previous = session.execute(newest.order_by(AuditRow.seq.desc()).limit(1)).first() or (0, GENESIS)
    kind, key = about
    entry = Entry(
        shop_id=shop,
        seq=seq + 1,
        at=stamp(now),
        actor=by.name,
        address=by.address,
        request_id=by.request_id,
        action=action,
        object_type=kind,
        object_id=key,
        before=told(before),
        after=told(after),
        previous=previous,
        hash="",
    )
    entry = replace(entry, hash=digest_of(entry))
    session.add(AuditRow(**asdict(entry)))
    # The next entry of this transaction follows this one.
    session.flush()
    return Head(shop, entry.seq, entry.hash)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one chain: its `head` as far as it is right, and the first `fault`, None if all is.

    `erased`: decisions whose record is no longer there, as after an erasure of their orders.
    """

    head: Head
    fault: str | None
    erased: int = 0


class AuditLog:
    """Reads the log. Every call may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def newest(
        self, limit: int, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> list[Entry]:
        """The last `limit` entries, oldest first. `action` as a whole, or its first word (`menu`)."""
        query = _wanted(shop, action, since).order_by(
            AuditRow.at.desc(), AuditRow.shop_id.desc(), AuditRow.seq.desc()
        )
        with reading(self._database) as session:
            return [Entry(*row) for row in session.execute(query.limit(limit))][::-1]

    def entries(
        self, *, shop: str | None = None, action: str | None = None, since: datetime | None = None
    ) -> Iterator[Entry]:
        """Every entry, chain by chain, in order. Read in pages, so that a slow reader holds nothing up."""
        query = _wanted(shop, action, since).order_by(AuditRow.shop_id, AuditRow.seq).limit(PAGE)
        place = tuple_(AuditRow.shop_id, AuditRow.seq)
        last: tuple[str, int] | None = None
        while True:
            page = query if last is None else query.where(place > last)
            with reading(self._database) as session:
                found = [Entry(*row) for row in session.execute(page)]
            yield from found
            if len(found) < PAGE:
                return
            last = (found[-1].shop_id, found[-1].seq)

    def heads(self, shop: str | None = None) -> list[Head]:
        """The newest entry of each chain, by shop."""
        last = select(AuditRow.shop_id, func.max(AuditRow.seq).label("seq")).group_by(AuditRow.shop_id)
        if shop is not None:
            last = last.where(AuditRow.shop_id == shop)
        ends = last.subquery()
        is_last = (AuditRow.shop_id == ends.c.shop_id) & (AuditRow.seq == ends.c.seq)
        query = select(AuditRow.shop_id, AuditRow.seq, AuditRow.hash).join(ends, is_last)
        with reading(self._database) as session:
            return [Head(*row) for row in session.execute(query.order_by(AuditRow.shop_id))]

    def verify(self, shop: str | None = None, noted: Sequence[Head] = ()) -> list[Verdict]:
        """Follow every chain, or one, through one snapshot. `noted`: heads that were printed earlier and kept
        elsewhere; each must still be in its chain."""
        with reading(self._database) as session:
            there = {shop} if shop else set(session.scalars(select(AuditRow.shop_id).distinct()))
            shops = sorted(there | {head.shop_id for head in noted}, key=str)
            return [_follow(session, one, [head for head in noted if head.shop_id == one]) for one in shops]


def _follow(session: Session, shop: str, noted: Sequence[Head]) -> Verdict:
    chain, seals = Chain(shop), Seals(session)
    # Fetched as it is read: a chain may be longer than memory.
    rows = session.execute(
        _of(select(*_COLUMNS), shop).order_by(AuditRow.seq), execution_options={"yield_per": PAGE}
    )
    with rows:
        for row in rows:
            entry = Entry(*row)
            if fault := chain.fault(entry):
                return Verdict(chain.head, fault)
            if any(head.hash != entry.hash for head in noted if head.seq == entry.seq):
                return Verdict(
                    chain.head,
                    f"entry {entry.seq} is not the one whose hash was noted: it, or one before it, was "
                    "written anew with all that follow",
                )
            seals.take(entry)
    end = chain.head.seq
    if (most := max((head.seq for head in noted), default=0)) > end:
        return Verdict(
            chain.head, f"entry {end + 1} is missing: entry {most} was noted, so the end was cut off"
        )
    return Verdict(chain.head, seals.fault(), seals.erased)


def _wanted(shop: str | None, action: str | None, since: datetime | None) -> Select[Any]:
    query = select(*_COLUMNS)
    if shop is not None:
        query = _of(query, shop)
    if since is not None:
        query = query.where(AuditRow.at >= stamp(since))
    if action is None:
        return query
    return query.where(
        AuditRow.action == action
        if "." in action
        else AuditRow.action.startswith(f"{action}.", autoescape=True)
    )


def _of(query: Select[Any], shop: str) -> Select[Any]:
    return query.where(AuditRow.shop_id == shop)
