"""The table of webhook endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from services.storage.base.table_base import Base


class WebhookEndpointRow(Base):
    """A webhook endpoint of one shop: see `endpoints.py`. `events` is NULL for all; `till` names the form
    that completed orders are sent in, NULL for ours.

    Secrets stand here as they are: messages are signed with them, and a key to decrypt them with would lie
    in the same home, readable by the same user.
    """

    __tablename__ = "webhook_endpoints"
    __table_args__ = (Index("ix_webhook_endpoints_shop", "shop_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    shop_id: Mapped[str] = mapped_column(ForeignKey("shops.id"))
    url: Mapped[str]
    secret: Mapped[str]
    events: Mapped[list[Any] | None]
    till: Mapped[str | None]
    location: Mapped[str | None]
    created_at: Mapped[datetime]
