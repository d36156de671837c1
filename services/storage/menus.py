"""Menus: immutable versions, counted from 1."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import asdict, fields

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import aliased

from infra.database import Database
from schemas.audit import Actor
from schemas.errors import Conflict, NotFound
from schemas.menu import Menu
from services.storage.audit_menus import told_menu
from services.storage.changes import glancing, reading, writing
from services.storage.mapping import menu_of
from services.storage.records import MenuHeader, MenuVersion
from services.storage.scoping import of_shop
from services.storage.tables import MenuRow, OrderRow

# Versions that a process remembers: of 60 items each they take 190 kB, so 100 MB where there are so many.
CACHED = 512
_LATELY = 1000  # orders
MAX_VERSION = 2**31 - 1
_HEADER = [getattr(MenuRow, field.name) for field in fields(MenuHeader)]


class Versions:
    """Menu versions that a process remembers: one never changes, so what was read once is right for good.
    Safe to share between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int], MenuVersion] = OrderedDict()
        self._guard = threading.Lock()

    def find(self, shop: str, menu_id: str, version: int) -> MenuVersion | None:
        with self._guard:
            if (known := self._known.get((shop, menu_id, version))) is not None:
                self._known.move_to_end((shop, menu_id, version))
            return known

    def keep(self, found: MenuVersion) -> None:
        with self._guard:
            self._known[found.shop, found.menu.id, found.version] = found
            if len(self._known) > CACHED:
                self._known.popitem(last=False)


class MenuStore:
    """Menus of one shop. Every call may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database, shop: str, versions: Versions | None = None) -> None:
        """`versions`: those that the process's other menu stores remember too."""
        self._database, self._shop = database, shop
        self._versions = versions or Versions()

    def of(self, shop: str) -> MenuStore:
        """The same for another shop."""
        return MenuStore(self._database, shop, self._versions)

    def put(self, menu: Menu, *, by: Actor, after: int | None = None) -> tuple[MenuVersion, bool]:
        """Store a checked menu as its next version; False when the newest version says the same already.

        Who did it and what differs is in the audit log: as an edit where `after` is given, else as an import.

        Raises:
            Conflict: `after` is given, and the newest version is another one by now.
        """
        document = menu.model_dump(mode="json")
        # Not of sorted keys: the order of a menu's prices is the order of its sizes.
        digest = hashlib.sha256(menu.model_dump_json().encode()).hexdigest()
        with writing(self._database) as (session, now):
            self._database.lock(session, f"menu:{self._shop}:{menu.id}")
            newest = session.scalars(
                select(MenuRow).where(self._named(menu.id)).order_by(MenuRow.version.desc()).limit(1)
            ).one_or_none()
            if after is not None and after != (newest.version if newest else 0):
                raise Conflict("The menu has got a newer version since this page was loaded")
            if newest is not None and newest.digest == digest:
                return menu_of(newest), False
            version = 1 if newest is None else newest.version + 1
            stored = MenuVersion(shop=self._shop, menu=menu, version=version, digest=digest, created_at=now)
            session.add(MenuRow(shop_id=self._shop, **asdict(stored.header), document=document))
            told_menu(
                self._database,
                session,
                stored,
                menu_of(newest) if newest else None,
                by,
                edited=after is not None,
            )
            return stored, True

    def get(self, menu_id: str, version: int | None = None) -> MenuVersion:
        """One version, the newest by default.

        Raises:
            NotFound: no such menu or version.
        """
        if version is not None:
            if (known := self._versions.find(self._shop, menu_id, version)) is not None:
                return known
            if not 1 <= version <= MAX_VERSION:
                raise NotFound(f"No version {version} of menu {menu_id}")
        # No snapshot: a version never changes once it is there.
        with glancing(self._database) as session:
            if version is None:
                version = session.scalar(select(func.max(MenuRow.version)).where(self._named(menu_id)))
                if version is None:
                    raise NotFound(f"No menu {menu_id}", hint="`saycart menu import FILE` brings one in.")
                if (known := self._versions.find(self._shop, menu_id, version)) is not None:
                    return known
            row = session.get(MenuRow, (self._shop, menu_id, version))
            if row is None:
                raise NotFound(f"No version {version} of menu {menu_id}")
            found = menu_of(row)
        self._versions.keep(found)
        return found

    def versions(self, menu_id: str, *, limit: int) -> list[MenuVersion]:
        """Up to `limit` versions of one menu, newest first; none for a menu that does not exist."""
        query = select(MenuRow).where(self._named(menu_id)).order_by(MenuRow.version.desc()).limit(limit)
        with reading(self._database) as session:
            return [menu_of(row) for row in session.scalars(query)]

    def headers(self, *, limit: int | None = None) -> list[MenuHeader]:
        """The newest version of each menu without its document, by id; the first `limit` of them."""
        newer = aliased(MenuRow)
        same = (newer.shop_id == MenuRow.shop_id) & (newer.id == MenuRow.id)
        is_newest = ~exists().where(same, newer.version > MenuRow.version)
        query = (
            select(*_HEADER).where(of_shop(MenuRow, self._shop), is_newest).order_by(MenuRow.id).limit(limit)
        )
        with reading(self._database) as session:
            return [MenuHeader(*row) for row in session.execute(query)]

    def lately_used(self, limit: int) -> list[MenuVersion]:
        """Newest versions of up to `limit` menus of all shops: those ordered from last, then those imported
        last.

        Of the orders only the newest `_LATELY` are looked at, by an index: as cheap in a full database.
        """
        orders = select(OrderRow.shop_id, OrderRow.menu_id)
        orders = orders.order_by(OrderRow.created_at.desc(), OrderRow.id.desc()).limit(_LATELY)
        menus = select(MenuRow.shop_id, MenuRow.id).group_by(MenuRow.shop_id, MenuRow.id)
        menus = menus.order_by(func.max(MenuRow.created_at).desc(), MenuRow.shop_id, MenuRow.id).limit(limit)
        with reading(self._database) as session:
            found = dict.fromkeys(tuple(row) for row in [*session.execute(orders), *session.execute(menus)])
        return [self.of(shop).get(menu_id) for shop, menu_id in list(found)[:limit]]

    def _named(self, menu_id: str) -> ColumnElement[bool]:
        return and_(MenuRow.shop_id == self._shop, MenuRow.id == menu_id)
