"""Names of accounts: two that look alike are one, since a name in a record says which person it was."""

from __future__ import annotations

import unicodedata

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.sql.database import Database
from services.storage.base.tables_staff import StaffRow

MAX_NAME_CHARS = 80
# Letters of other scripts, after case is gone, that are drawn as Latin ones.
_DRAWN = str.maketrans("аеорсухіјѕԁһӏқԛԝвкмнтαορυνικτη", "aeopcyxijsdhlkqwbkmhtaopuviktn")


def is_name(text: str) -> bool:
    """Whether an account may be called so."""
    return 1 <= len(text) <= MAX_NAME_CHARS and text.isprintable()


def drawn(name: str) -> str:
    """Return what is the same for names that look alike: without case, accents' forms, and other spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().translate(_DRAWN).split())


def taken(database: Database, session: Session, name: str) -> str | None:
    """Return the account's name that this one can be taken for, if there is one. No other name that looks so
    is given away until the transaction ends."""
    wanted = drawn(name)
    database.lock(session, f"staff:{wanted}")
    # There are as many accounts as people at work.
    return next((other for other in session.scalars(select(StaffRow.name)) if drawn(other) == wanted), None)
