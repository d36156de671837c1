"""Stored menu versions as values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from schemas.menu import Menu


@dataclass(frozen=True, slots=True)
class MenuHeader:
    """What a list shows of one menu version, without its document: `items` is how many there are, `sold_out`
    how many of them."""

    id: str
    version: int
    digest: str
    name: str
    currency: str
    language: str
    items: int
    sold_out: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MenuVersion:
    """One immutable version of a shop's menu; `version` counts from 1, `digest` is of the document."""

    shop: str
    menu: Menu
    version: int
    digest: str
    created_at: datetime

    def at(self, moment: datetime) -> MenuVersion:
        """The version with its menu as it is at a moment."""
        menu = self.menu.at(moment)
        return self if menu is self.menu else replace(self, menu=menu)

    @property
    def header(self) -> MenuHeader:
        menu = self.menu
        return MenuHeader(
            id=menu.id,
            version=self.version,
            digest=self.digest,
            name=menu.name,
            currency=menu.currency,
            language=menu.language,
            items=len(menu.items),
            sold_out=sum(not item.available for item in menu.items),
            created_at=self.created_at,
        )
