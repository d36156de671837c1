"""The menu store: immutable versions, numbered from 1."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields
from threading import Lock

from cachetools import LRUCache, cachedmethod
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

# A version in memory takes about nine times the size of its document.
CACHED_BYTES, _TIMES = 100_000_000, 9
_RECENT_ORDERS = 1000
MAX_VERSION = 2**31 - 1
_HEADER = [getattr(MenuRow, field.name) for field in fields(MenuHeader)]


_LOCK = Lock()  # of every cache
Cache = LRUCache[tuple[str, str, int], MenuVersion]
"""By shop, menu and version. Versions never change, so entries never expire."""


class MenuStore:
    """Menus of one shop. Any call may also raise StorageUnavailable."""

    def __init__(self, database: Database, shop: str, cache: Cache | None = None) -> None:
        """`cache`: shared with the process's other menu stores."""
        self._root, self._database, self._shop = database, database_of(database, shop), shop
        self._cache: Cache = LRUCache(CACHED_BYTES, getsizeof=_size) if cache is None else cache

    def of(self, shop: str) -> MenuStore:
        """Return the store of another shop, with the same cache."""
        return MenuStore(self._root, shop, self._cache)

    def put(
        self, menu: Menu, *, by: Actor, after: int | None = None, edited: bool = False
    ) -> tuple[MenuVersion, bool]:
        """Store a checked menu as its next version; return it and True, or the newest version and False if it
        is the same. The audit log records an import or an edit, with the digests of both versions.

        Raises:
            Conflict: the newest version is no longer `after`.
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
        """Return a version, the newest by default; raises NotFound."""
        if version is not None and not 1 <= version <= MAX_VERSION:
            raise NotFound(f"No version {version} of menu {menu_id}")
        with self._database.glance() as session:
            number = self._newest(session, menu_id) if version is None else version
            if number is None:
                raise NotFound(f"There is no menu “{menu_id}”", hint="`saycart menu import FILE` adds one.")
            return self._read(session, menu_id, number)

    def versions(self, menu_id: str, *, limit: int) -> list[MenuHeader]:
        """List up to `limit` versions of a menu, newest first."""
        query = select(*_HEADER).where(self._named(menu_id)).order_by(MenuRow.version.desc())
        with self._database.read() as session:
            return [MenuHeader(*row) for row in session.execute(query.limit(limit))]

    def headers(self, *, limit: int | None = None) -> list[MenuHeader]:
        """List the newest version of each menu by id, without documents."""
        newer = aliased(MenuRow)
        same = (newer.shop_id == MenuRow.shop_id) & (newer.id == MenuRow.id)
        is_newest = ~exists().where(same, newer.version > MenuRow.version)
        query = select(*_HEADER).where(of_shop(MenuRow, self._shop), is_newest).order_by(MenuRow.id)
        with self._database.read() as session:
            return [MenuHeader(*row) for row in session.execute(query.limit(limit))]

    def recently_used(self, limit: int) -> list[MenuVersion]:
        """Return the newest versions of up to `limit` menus of all shops: those ordered from most recently,
        then those imported most recently."""
        orders = select(OrderRow.shop_id, OrderRow.menu_id)
        orders = orders.order_by(OrderRow.created_at.desc(), OrderRow.id.desc()).limit(_RECENT_ORDERS)
        menus = select(MenuRow.shop_id, MenuRow.id).group_by(MenuRow.shop_id, MenuRow.id)
        menus = menus.order_by(func.max(MenuRow.created_at).desc(), MenuRow.shop_id, MenuRow.id).limit(limit)
        with self._database.read() as session:
            both = (*session.execute(orders), *session.execute(menus))
        return [self.of(shop).get(menu_id) for shop, menu_id in [*dict.fromkeys(both)][:limit]]

    def _newest(self, session: Session, menu_id: str) -> int | None:
        return session.scalar(select(func.max(MenuRow.version)).where(self._named(menu_id)))

    @cachedmethod(
        lambda self: self._cache,
        key=lambda self, _, menu_id, version: (self._shop, menu_id, version),
        lock=lambda _: _LOCK,
    )
    def _read(self, session: Session, menu_id: str, version: int) -> MenuVersion:
        """Return a version from the cache or the database; raises NotFound."""
        row = session.get(MenuRow, (self._shop, menu_id, version))
        if row is None:
            raise NotFound(f"No version {version} of menu {menu_id}")
        return MenuVersion(
            shop=row.shop_id,
            menu=Menu.model_validate(row.document),
            version=row.version,
            digest=row.digest,
            created_at=row.created_at,
        )

    def _named(self, menu_id: str) -> ColumnElement[bool]:
        return and_(MenuRow.shop_id == self._shop, MenuRow.id == menu_id)


def _size(version: MenuVersion) -> int:
    return _TIMES * len(version.menu.model_dump_json(exclude_defaults=True))


def _digest(menu: Menu) -> str:
    # Without sorting keys: a menu's prices are in the order of its sizes.
    return hashlib.sha256(menu.model_dump_json().encode()).hexdigest()


def _logged(stored: MenuVersion) -> dict[str, object]:
    """Return a version's entry in the audit log."""
    return {"version": stored.version, "digest": stored.digest}
