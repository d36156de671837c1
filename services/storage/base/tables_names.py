"""The table of names that were suggested for things of menus: see `services/storage/shops/names.py`."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from services.storage.base.table_base import Base


class NameSuggestionRow(Base):
    """A name that a model thought of and nobody has decided on, or the mark of one that was decided on. No
    customer's words ever stand in `words` (ADR 67)."""

    __tablename__ = "name_suggestions"
    __table_args__ = (Index("ix_name_suggestions_menu", "shop_id", "menu_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = mapped_column(ForeignKey("shops.id"))
    menu_id: Mapped[str]
    thing: Mapped[str]
    source: Mapped[str]
    mark: Mapped[str]
    words: Mapped[str | None]
    state: Mapped[str]
    decided_by: Mapped[str | None]
    created_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]
