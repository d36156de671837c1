"""What all tables share: their base, types of columns, and the shop that a row belongs to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from infra.sql.database import UtcDateTime

# JSON and not JSONB: it keeps the order of keys, which in a menu's prices is the order of its sizes.
# None is SQL NULL, so that "has no cart" is one thing to ask for.
_JSON = JSON(none_as_null=True)
Document = dict[str, Any]


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, Document: _JSON, list[Any]: _JSON}  # noqa: RUF012 (read once by SQLAlchemy)


def shop(**more: Any) -> Mapped[str]:
    return mapped_column(ForeignKey("shops.id"), **more)
