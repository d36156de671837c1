"""What all tables share: their base, types of columns, and the shop that a row belongs to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from infra.sql.database import UtcDateTime
from schemas.shops.access import MAIN_SHOP

# JSON and not JSONB: it keeps the order of keys, which in a menu's prices is the order of its sizes.
# None is SQL NULL, so that "has no cart" is one thing to ask for.
_JSON = JSON(none_as_null=True)
Document = dict[str, Any]


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, Document: _JSON, list[Any]: _JSON}  # noqa: RUF012 (read once by SQLAlchemy)


def where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def shop(**more: Any) -> Mapped[str]:
    # The default is for parts of the release before, while an upgrade rolls; ours always name the shop.
    return mapped_column(ForeignKey("shops.id"), server_default=MAIN_SHOP, **more)
