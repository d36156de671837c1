"""The audit log: who did what to which thing, before and after (ADR 41). Numbered for each shop
without gaps; the database refuses all but the next entry.

| action | object | before, after |
|---|---|---|
| `menu.imported`, `menu.edited` | `menu` | version, digest, and what differs, by JSON pointers of ids |
| `price.changed` | `menu` | the prices that differ, in the same way, and the version |
| `account.added`, `account.disabled` | `account` | whether it is disabled |
| `account.role` | `account` | the role |
| `account.invited`, `account.bound`, `account.unbound` | `account` | the provider, and who it is there |
| `password.set` | `account` | nothing |
| `second_step.on`, `.off`, `.reset` | `account` | how many recovery codes there are; whether there was one |
| `recovery_codes.made`, `recovery_code.used` | `account` | how many there are now |
| `key.added`, `key.rotated`, `key.revoked` | `key` | name, scopes, person, family, end |
| `webhook.added`, `.changed`, `.rotated`, `.removed`, `.test_asked` | `webhook` | its URL's origin, events |
| `sign_in.by_provider` | `account` | the provider |
| `sign_in.refused` | `account`, or `identity` without an account | the provider, and why in a word |
| `order.erased` | `order` | whether a recording went too |
| `retention.carried_out` | `shop` | how many recordings, transcripts or orders, and which end they had |
| `shop.keeps` | `shop` | the days that differ |
| `review.decided`, `review.awaits_second` | `review` | totals and the decision |

What a reviewer did in full is in `review_records` alone, which can be erased with its order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, tuple_
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.shops.audit import Actor, Entry, Head, stamp, told
from services.storage.base.changes import reading
from services.storage.base.tables import AuditRow

PAGE = 500
_COLUMNS = [getattr(AuditRow, field.name) for field in fields(Entry)]


def record(
    session: Session,
    now: datetime,
    by: Actor,
    action: str,
    about: tuple[str, str],
    *,
    shop: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Append one entry inside the caller's write transaction, so that neither it nor the act is ever alone.

    `about` is type and id of the object; `before` and `after` hold what changed and nothing else, of plain
    JSON values. To be called last: the shop's log is locked from here to the commit, and a caller that took
    another lock after it could deadlock.

    Raises:
        ValueError: a field named like a secret or like a customer's words.
    """
    Database.lock(session, f"audit:{shop}")
    newest = select(func.max(AuditRow.seq)).where(AuditRow.shop_id == shop)
    seq = session.scalar(newest) or 0
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
    )
    session.add(AuditRow(**asdict(entry)))
    # The next entry of this transaction follows this one.
    session.flush()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one shop's log: its `head` as far as it is right, and the first `fault`, None if all
    is."""

    head: Head
    fault: str | None


class AuditLog:
    """Reads the log. Every call may raise StorageUnavailable in addition to what it names."""

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
        """Every entry, shop by shop, in order. Read in pages, so that a slow reader holds nothing up."""
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
        """The newest entry of each shop, with a digest of all up to it."""
        return [one.head for one in self.verify(shop) if one.head.seq]

    def verify(self, shop: str | None = None, noted: Sequence[Head] = ()) -> list[Verdict]:
        """Read every log, or one shop's, for gaps. `noted`: heads that were printed earlier and kept
        elsewhere; each must still be what its log comes to."""
        with reading(self._database) as session:
            there = {shop} if shop else set(session.scalars(select(AuditRow.shop_id).distinct()))
        shops = sorted(there | {head.shop_id for head in noted}, key=str)
        return [self._follow(one, [head for head in noted if head.shop_id == one]) for one in shops]

    def _follow(self, shop: str, noted: Sequence[Head]) -> Verdict:
        seq, digest = 0, hashlib.sha256()
        head = Head(shop, 0, digest.hexdigest())
        for entry in self.entries(shop=shop):
            if entry.seq != seq + 1:
                return Verdict(
                    head, f"entry {seq + 1} is missing: the next one there is numbered {entry.seq!r}"
                )
            try:
                digest.update(f"{entry.line}\n".encode())
            except (TypeError, ValueError):
                return Verdict(head, f"entry {seq + 1} is not text")
            seq, head = entry.seq, Head(shop, entry.seq, digest.hexdigest())
            if any(one != head for one in noted if one.seq == seq):
                return Verdict(
                    head, f"entry {seq}, or one before it, is not as it was when its head was noted"
                )
        if (most := max((one.seq for one in noted), default=0)) > seq:
            return Verdict(
                head, f"entry {seq + 1} is missing: entry {most} was noted, so the end was cut off"
            )
        return Verdict(head, None)


def _wanted(shop: str | None, action: str | None, since: datetime | None) -> Select[Any]:
    query = select(*_COLUMNS)
    if shop is not None:
        query = query.where(AuditRow.shop_id == shop)
    if since is not None:
        query = query.where(AuditRow.at >= stamp(since))
    if action is None:
        return query
    return query.where(
        AuditRow.action == action
        if "." in action
        else AuditRow.action.startswith(f"{action}.", autoescape=True)
    )
