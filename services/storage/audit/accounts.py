"""What the audit log says of a staff account."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from schemas.shops.audit import UNKNOWN, Actor
from services.storage.audit.log import record
from services.storage.base.tables_staff import StaffRow


def told_account(
    session: Session,
    now: datetime,
    by: Actor | None,
    action: str,
    account: StaffRow,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """One entry for what was done to the account; of a password it says only that it was set."""
    session.flush()
    about = ("account", account.name)
    record(session, now, by or UNKNOWN, action, about, shop=account.shop_id, before=before, after=after)
