"""Menus: immutable versions, counted from 1."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict, fields
from threading import Lock

from cachetools import LRUCache
from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import Session, aliased

from infra.sql.database import Database
from schemas.errors import Conflict, NotFound
from schemas.menu import Menu, MenuHeader, MenuVersion
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import MenuRow, OrderRow

# Versions that a process remembers, each of about nine times what its document takes.
CACHED_BYTES, _TIMES = 100_000_000, 9
_LATELY = 1000  # orders
MAX_VERSION = 2**31 - 1
_HEADER = [getattr(MenuRow, field.name) for field in fields(MenuHeader)]


_LOCK = Lock()  # of every cache
Known = LRUCache[tuple[str, str, int], MenuVersion]
"""By shop, menu and version. A version never changes, so what was read once is right for good."""


class MenuStore:
    """Menus of one shop. Every call may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database, shop: str, known: Known | None = None) -> None:
        """`known`: versions that the process's other menu stores remember too."""
        self._root, self._database, self._shop = database, database_of(database, shop), shop
        self._known: Known = LRUCache(CACHED_BYTES, getsizeof=_size) if known is None else known

    def of(self, shop: str) -> MenuStore:
        """The same for another shop."""
        return MenuStore(self._root, shop, self._known)

    def put(
        self, menu: Menu, *, by: Actor, after: int | None = None, edited: bool = False
    ) -> tuple[MenuVersion, bool]:
        """Store a checked menu as its next version; False when the newest version says the same already.

        Who did it is in the audit log: as an import, or an edit of a part. Versions never
        change, and the entry has the digests of both, so what differs can be looked up for good.

        Raises:
            Conflict: `after` is given, and the newest version is another one by now.
        """
        with writing(self._database) as (session, now):
            self._database.lock(session, f"menu:{self._shop}:{menu.id}")
            newest = self._newest(session, menu.id)
            if after is not None and after != (newest or 0):
                raise Conflict("The menu has changed since you opened this page")
            old = None if newest is None else self._read(session, menu.id, newest)
            digest = _digest(menu)
            if old is not None and old.digest == digest:
                return old, False
            number = (newest or 0) + 1
            stored = MenuVersion(shop=self._shop, menu=menu, version=number, digest=digest, created_at=now)
            document = menu.model_dump(mode="json")
            session.add(MenuRow(shop_id=self._shop, **asdict(stored.header), document=document))
            action = "menu.edited" if edited else "menu.imported"
            was, is_now = _logged(old) if old else None, _logged(stored)
            record(session, now, by, action, ("menu", menu.id), shop=self._shop, before=was, after=is_now)
            return stored, True

    def get(self, menu_id: str, version: int | None = None) -> MenuVersion:
        """One version, the newest by default.

        Raises:
            NotFound: no such menu or version.
        """
        if version is not None and not 1 <= version <= MAX_VERSION:
            raise NotFound(f"No version {version} of menu {menu_id}")
        # No snapshot: a version never changes once it is there.
        with self._database.glance() as session:
            number = self._newest(session, menu_id) if version is None else version
            if number is None:
                raise NotFound(f"No menu {menu_id}", hint="`saycart menu import FILE` adds one.")
            if (found := self._read(session, menu_id, number)) is None:
                raise NotFound(f"No version {number} of menu {menu_id}")
            return found

    def versions(self, menu_id: str, *, limit: int) -> list[MenuHeader]:
        """Up to `limit` versions of one menu, newest first; none for a menu that does not exist."""
        query = select(*_HEADER).where(self._named(menu_id)).order_by(MenuRow.version.desc())
        with self._database.read() as session:
            return [MenuHeader(*row) for row in session.execute(query.limit(limit))]

    def headers(self, *, limit: int | None = None) -> list[MenuHeader]:
        """The newest version of each menu without its document, by id; the first `limit` of them."""
        newer = aliased(MenuRow)
        same = (newer.shop_id == MenuRow.shop_id) & (newer.id == MenuRow.id)
        is_newest = ~exists().where(same, newer.version > MenuRow.version)
        query = select(*_HEADER).where(of_shop(MenuRow, self._shop), is_newest).order_by(MenuRow.id)
        with self._database.read() as session:
            return [MenuHeader(*row) for row in session.execute(query.limit(limit))]

    def lately_used(self, limit: int) -> list[MenuVersion]:
        """Newest versions of up to `limit` menus of all shops: those ordered from last, then those imported
        last.

        Of the orders only the newest `_LATELY` are looked at, by an index: as cheap in a full database.
        """
        orders = select(OrderRow.shop_id, OrderRow.menu_id)
        orders = orders.order_by(OrderRow.created_at.desc(), OrderRow.id.desc()).limit(_LATELY)
        menus = select(MenuRow.shop_id, MenuRow.id).group_by(MenuRow.shop_id, MenuRow.id)
        menus = menus.order_by(func.max(MenuRow.created_at).desc(), MenuRow.shop_id, MenuRow.id).limit(limit)
        with self._database.read() as session:
            both = (*session.execute(orders), *session.execute(menus))
        return [self.of(shop).get(menu_id) for shop, menu_id in [*dict.fromkeys(both)][:limit]]

    def _newest(self, session: Session, menu_id: str) -> int | None:
        return session.scalar(select(func.max(MenuRow.version)).where(self._named(menu_id)))

    def _read(self, session: Session, menu_id: str, version: int) -> MenuVersion | None:
        """A version as it is remembered, or stands in the database; None for one that is not there."""
        with _LOCK:
            known = self._known.get((self._shop, menu_id, version))
        if known is not None:
            return known
        row = session.get(MenuRow, (self._shop, menu_id, version))
        if row is None:
            return None
        found = MenuVersion(
            shop=row.shop_id,
            menu=Menu.model_validate(row.document),
            version=row.version,
            digest=row.digest,
            created_at=row.created_at,
        )
        with _LOCK, suppress(ValueError):  # larger than the whole cache
            self._known[self._shop, menu_id, version] = found
        return found

    def _named(self, menu_id: str) -> ColumnElement[bool]:
        return and_(MenuRow.shop_id == self._shop, MenuRow.id == menu_id)


def _size(version: MenuVersion) -> int:
    return _TIMES * len(version.menu.model_dump_json(exclude_defaults=True))


def _digest(menu: Menu) -> str:
    # Not of sorted keys: the order of a menu's prices is the order of its sizes.
    return hashlib.sha256(menu.model_dump_json().encode()).hexdigest()


def _logged(stored: MenuVersion) -> dict[str, object]:
    """A version as the audit log names it."""
    return {"version": stored.version, "digest": stored.digest}
