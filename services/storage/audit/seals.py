"""Whether the records of reviews are still what the audit log says of them."""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.shops.audit import Entry
from services.storage.base.tables import AuditRow, ReviewRecordRow
from services.storage.reviews.log import seal_of

AT_ONCE = 200
ERASED = "order.erased"


class Seals:
    """Takes the entries of a chain as they are followed, and compares those of reviews, some at a time.

    `erased` counts decisions whose records are gone altogether, and those of orders that were erased by an
    entry of their own, whatever is left of the record.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: list[tuple[Entry, str, str]] = []
        self._fault: str | None = None
        self.erased = 0

    def take(self, entry: Entry) -> None:
        """An entry that is right as an entry; only those of reviews count."""
        if entry.object_type != "review":
            return
        try:
            after = json.loads(entry.after or "")
            self._held.append((entry, after["order"], after["record"]))
        except (ValueError, KeyError, TypeError):
            self._found(f"entry {entry.seq} is of a review, and does not name its record")
        if len(self._held) >= AT_ONCE:
            self._compare()

    def fault(self) -> str | None:
        """The first record that was changed, once all entries were taken."""
        self._compare()
        return self._fault

    def _compare(self) -> None:
        reviews = {entry.object_id for entry, _, _ in self._held}
        there: dict[str, set[str]] = {}
        for row in self._session.scalars(
            select(ReviewRecordRow).where(ReviewRecordRow.review_id.in_(reviews))
        ):
            there.setdefault(row.review_id, set()).add(seal_of(row))
            self._session.expunge(row)
        orders = {order_id for _, order_id, _ in self._held}
        erased = set(
            self._session.scalars(
                select(AuditRow.object_id).where(
                    AuditRow.object_type == "order",
                    AuditRow.object_id.in_(orders),
                    AuditRow.action == ERASED,
                )
            )
        )
        for entry, order_id, seal in self._held:
            known = there.get(entry.object_id, set())
            if seal in known:
                continue
            if not known or order_id in erased:
                self.erased += 1
            else:
                self._found(
                    f"the record of {entry.object_id} is not the one that entry {entry.seq} was written with"
                )
        self._held.clear()

    def _found(self, fault: str) -> None:
        self._fault = self._fault or fault
