"""Ids, page cursors and names.

An id is a prefix and 26 characters: 48 bits of milliseconds, then 80 random bits. Ids sort by age, which
keeps indexes compact, and can't be guessed.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Select, literal, select, tuple_

from infra.sql.database import UtcDateTime
from schemas.errors import InputError
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord

# Crockford's base 32: in ASCII order, without letters that look like digits.
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"

R = TypeVar("R", OrderRecord, ReviewRecord)


def new_id(prefix: str) -> str:
    """For example `ord_01hzy...`."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return prefix + "_" + "".join(DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def paged(table: Any, cursor: str | None, limit: int | None, *, newest_first: bool = False) -> Select[Any]:
    """Select up to `limit` rows after a cursor, by `created_at` and `id`; raises as `_parsed`."""
    place, backwards = (table.created_at, table.id), (table.created_at.desc(), table.id.desc())
    query = select(table).order_by(*(backwards if newest_first else place)).limit(limit)
    if cursor is None:
        return query
    at, key = _parsed(cursor)
    here = tuple_(literal(at, UtcDateTime), literal(key))
    return query.where(tuple_(*place) < here if newest_first else tuple_(*place) > here)


def page_of(records: list[R], limit: int) -> tuple[list[R], str | None]:
    """Return up to `limit` of the records, and the cursor to the next page, None on the last."""
    if len(records) <= limit:
        return records, None
    last = records[limit - 1]
    place = f"{last.created_at.isoformat()} {last.id}"
    return records[:limit], base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _parsed(cursor: str) -> tuple[datetime, str]:
    """Return a cursor's time, in UTC, and id.

    Raises:
        InputError: not one of our cursors.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        stamp, key = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(" ")
        at = datetime.fromisoformat(stamp)
        if at.tzinfo is None or not key.isprintable():
            raise ValueError
        at = at.astimezone(UTC)
    except (ValueError, OverflowError, binascii.Error):  # overflow: year 1 or 9999 with an offset
        hint = "Pass `next_cursor` from the previous page, unchanged."
        raise InputError("This isn't a page cursor", hint=hint) from None
    return at, key


def checked_name(what: str, name: str, most: int) -> str:
    """Return a name without spaces around it; raises InputError unless it has 1 to `most` printable
    characters."""
    name = name.strip()
    if not 1 <= len(name) <= most or not name.isprintable():
        raise InputError(f"{what} has 1 to {most} printable characters")
    return name
