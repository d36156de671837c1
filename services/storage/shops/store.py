"""The store of shops. How other stores are bound to one: see `scoping.py`."""

from __future__ import annotations

import builtins
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from schemas.errors import Conflict, InputError
from schemas.shops.audit import Actor
from schemas.shops.settings import FOREVER, Acceptance, Brand, Days, Keeping
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.scoping import OfAllShops, shop_row
from services.storage.base.tables import ShopRow

_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)
MAX_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop, called by its `id` in commands and records."""

    id: str
    name: str
    created_at: datetime
    keeps: Keeping
    needs_second_step: bool
    accepts: Acceptance
    brand: Brand


class ShopStore(OfAllShops):
    """Each call is one transaction, and may raise StorageUnavailable, and NotFound for an unknown shop."""

    def add(self, shop_id: str, name: str, *, by: Actor) -> Shop:
        """Create a shop.

        Raises:
            InputError: an invalid id or name.
            Conflict: the id is in use.
        """
        if not _ID.fullmatch(shop_id):
            raise InputError(
                f"{shop_id[:60]!r} is not a valid shop id",
                hint="Use 1 to 40 of a-z, 0-9 and -, such as harbor-1.",
            )
        name = _checked_name(name)
        with writing(self._database) as (session, now):
            self._database.lock(session, f"shop:{shop_id}")
            if session.get(ShopRow, shop_id) is not None:
                raise Conflict(
                    f"The shop {shop_id} already exists", hint="`saycart shops list` lists all shops."
                )
            row = ShopRow(id=shop_id, name=name, created_at=now, needs_second_step=False)
            session.add(row)
            about, after = ("shop", shop_id), {"name": row.name}
            record(session, now, by, "shop.added", about, shop=shop_id, after=after)
            return _shop(row)

    def set_retention(self, shop_id: str, days: Mapping[str, Days | None], *, by: Actor) -> Shop:
        """Set how long the shop keeps the given ones of recordings, transcripts and orders; None: as the
        settings say."""
        columns = {f"keep_{what}_days": 0 if kept == FOREVER else kept for what, kept in days.items()}
        return self._change(shop_id, columns, by, "shop.keeps", lambda shop: shop.keeps.shown())

    def require_second_step(self, shop_id: str, needed: bool, *, by: Actor) -> Shop:
        """Set whether the shop's staff must use two-step sign-in. Those without it must set it up first, even
        in open sessions."""
        columns, action = {"needs_second_step": needed}, "shop.second_step"
        return self._change(shop_id, columns, by, action, lambda shop: {"needed": shop.needs_second_step})

    def set_acceptance(self, shop_id: str, accepts: Mapping[str, bool], *, by: Actor) -> Shop:
        """Set the given fields of the shop's `Acceptance`, for orders that are placed or validated later."""
        columns = {f"accepts_{what}": accepted for what, accepted in accepts.items()}
        return self._change(shop_id, columns, by, "shop.accepts", lambda shop: asdict(shop.accepts))

    def set_brand(self, shop_id: str, columns: Mapping[str, str | None], *, by: Actor) -> Shop:
        """Set the shop's `name`, `colour` and `logo`, as far as given; None removes a colour or logo. Raises
        InputError for an invalid name."""
        if "name" in columns:
            columns = {**columns, "name": _checked_name(columns["name"] or "")}
        return self._change(shop_id, columns, by, "shop.brand", _brand)

    def _change(
        self,
        shop_id: str,
        columns: Mapping[str, Any],
        by: Actor,
        action: str,
        shown: Callable[[Shop], Mapping[str, Any]],
    ) -> Shop:
        """Set columns of a shop's row, and record in the audit log what is `shown` of it, if that changed."""
        with writing(self._database) as (session, now):
            row = shop_row(session, shop_id, hold=True)
            before = shown(_shop(row))
            for name, value in columns.items():
                setattr(row, name, value)
            session.flush()
            changed = _shop(row)
            if (after := shown(changed)) != before:
                about = ("shop", shop_id)
                record(session, now, by, action, about, shop=shop_id, before=before, after=after)
            return changed

    def list(self) -> builtins.list[Shop]:
        """List all shops by id."""
        with self._database.read() as session:
            return [_shop(row) for row in session.scalars(select(ShopRow).order_by(ShopRow.id))]

    def get(self, shop_id: str) -> Shop:
        """Return a shop."""
        with self._database.glance() as session:
            return _shop(shop_row(session, shop_id))


def _checked_name(name: str) -> str:
    if not 1 <= len(name.strip()) <= MAX_NAME_CHARS or not name.isprintable():
        raise InputError(f"A shop's name has 1 to {MAX_NAME_CHARS} printable characters")
    return name.strip()


def _brand(shop: Shop) -> dict[str, str | None]:
    """Return a shop's brand for the audit log, with the logo's digest."""
    logo = shop.brand.logo
    digest = None if logo is None else hashlib.sha256(logo.encode()).hexdigest()
    return {"name": shop.name, "colour": shop.brand.colour, "logo": digest}


def _shop(row: ShopRow) -> Shop:
    days = (row.keep_recordings_days, row.keep_transcripts_days, row.keep_orders_days)
    keeps = Keeping(*(FOREVER if kept == 0 else kept for kept in days))
    accepts = Acceptance(row.accepts_at_once, row.accepts_allergies)
    brand = Brand(row.name, row.colour, row.logo)
    return Shop(row.id, row.name, row.created_at, keeps, row.needs_second_step, accepts, brand)
