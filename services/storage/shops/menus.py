"""Menus: immutable versions, counted from 1."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields
from datetime import datetime
from functools import lru_cache
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Select, and_, exists, func, select
from sqlalchemy.orm import Session, aliased

from infra.caches import Bounded
from infra.sql.database import Database
from schemas.errors import Conflict, NotFound
from schemas.menu import Menu
from schemas.menu_fingerprint import written_bytes
from schemas.records.menus import MenuHeader, MenuVersion
from schemas.shops.audit import Actor
from schemas.shops.menu_local import Local
from services.storage.audit.menus import told_menu
from services.storage.base.changes import glancing, reading, writing
from services.storage.base.mapping import menu_of
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import MenuRow, OrderRow
from services.storage.shops import chains

log = structlog.get_logger()

# Versions that a process remembers, each of about nine times what its document takes; one that a chain's shop
# has made of the chain's shares what it leaves as it is.
CACHED_BYTES, _TIMES = 100_000_000, 9
_LATELY = 1000  # orders
MAX_VERSION = 2**31 - 1
_HEADER = [getattr(MenuRow, field.name) for field in fields(MenuHeader)]


class Versions:
    """Menu versions that a process remembers: one never changes, so what was read once is right for good.
    Safe to share between threads."""

    def __init__(self, most: int = CACHED_BYTES) -> None:
        self._known: Bounded[tuple[str, str, int], MenuVersion] = Bounded(most)

    def find(self, shop: str, menu_id: str, version: int) -> MenuVersion | None:
        return self._known.find((shop, menu_id, version))

    def keep(self, found: MenuVersion, local: Local | None = None) -> None:
        """`local`: what is new in it, where the rest is its chain's."""
        menu = found.menu
        size = written_bytes(menu) if local is None else len(local.model_dump_json()) + len(menu.items)
        self._known.keep((found.shop, menu.id, found.version), found, _TIMES * size)


class MenuStore:
    """Menus of one shop. Every call may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database, shop: str, versions: Versions | None = None) -> None:
        """`versions`: those that the process's other menu stores remember too."""
        self._root, self._database, self._shop = database, database_of(database, shop), shop
        self._versions = versions or Versions()

    def of(self, shop: str) -> MenuStore:
        """The same for another shop."""
        return MenuStore(self._root, shop, self._versions)

    def put(self, menu: Menu, *, by: Actor, after: int | None = None) -> tuple[MenuVersion, bool]:
        """Store a checked menu as its next version; False when the newest version says the same already.

        Who did it and what differs is in the audit log: as an edit where `after` is given, else as an import.

        Raises:
            Conflict: `after` is given, and the newest version is another one by now.
            InvalidMenu: the shop has this menu from its chain, and more differs than a shop's own marks.
        """
        with writing(self._database) as (session, now):
            self._database.lock(session, f"menu:{self._shop}:{menu.id}")
            found = chains.newest(session, self._shop, menu.id)
            if after is not None and after != (found.version or 0):
                raise Conflict("The menu has changed since you opened this page")
            old = self._read(session, menu.id, found.version)
            if found.is_behind:  # what the shop changes is then told apart from what the chain did
                old = self._followed(session, now, menu.id, found)
                found = chains.newest(session, self._shop, menu.id)
            if old is not None and old.digest == _digest(menu):
                return old, False
            base = None if found.is_own else self._base(session, menu.id, found)
            local = None if base is None else Local.of(base.menu, menu)
            stored = self._next(menu, found, now)
            self._add(session, stored, base, local)
            action = "menu.imported" if after is None else "menu.edited"
            told_menu(self._database, session, stored, old, by, action=action)
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
            newest = None if version is not None else chains.newest(session, self._shop, menu_id)
            if newest is None or not newest.is_behind:
                version = newest.version if newest else version
                if version is None:
                    raise NotFound(f"No menu {menu_id}", hint="`saycart menu import FILE` adds one.")
                if (found := self._read(session, menu_id, version)) is None:
                    raise NotFound(f"No version {version} of menu {menu_id}")
                return found
        return self._follow(menu_id)

    def versions(self, menu_id: str, *, limit: int) -> list[MenuVersion]:
        """Up to `limit` versions of one menu, newest first; none for a menu that does not exist."""
        self._catch_up()
        numbers = select(MenuRow.version).where(self._named(menu_id)).order_by(MenuRow.version.desc())
        with reading(self._database) as session:
            found = [self._read(session, menu_id, number) for number in session.scalars(numbers.limit(limit))]
        return [version for version in found if version is not None]

    def headers(self, *, limit: int | None = None, after: str | None = None) -> list[MenuHeader]:
        """The newest version of each menu without its document, by id; the first `limit` of them, or of those
        behind the id `after`."""
        self._catch_up()
        query = _newest_headers(self._shop)
        if after is not None:
            query = query.where(MenuRow.id > after)
        with reading(self._database) as session:
            return [MenuHeader(*row) for row in session.execute(query.limit(limit))]

    def lately_used(self, limit: int) -> list[MenuVersion]:
        """Newest versions of up to `limit` menus of all shops: those ordered from last, then those imported
        last; of shops that have one menu from their chain, the first.

        Of the orders only the newest `_LATELY` are looked at, by an index: as cheap in a full database.
        """
        orders = select(OrderRow.shop_id, OrderRow.menu_id)
        orders = orders.order_by(OrderRow.created_at.desc(), OrderRow.id.desc()).limit(_LATELY)
        menus = select(MenuRow.shop_id, MenuRow.id).where(MenuRow.base_shop.is_(None))
        menus = menus.group_by(MenuRow.shop_id, MenuRow.id)
        menus = menus.order_by(func.max(MenuRow.created_at).desc(), MenuRow.shop_id, MenuRow.id).limit(limit)
        with reading(self._database) as session:
            both = (*session.execute(orders), *session.execute(menus))
            found = chains.originals(session, [(shop, menu_id) for shop, menu_id in dict.fromkeys(both)])
        return [self.of(shop).get(menu_id) for shop, menu_id in found[:limit]]

    def _follow(self, menu_id: str) -> MenuVersion:
        with writing(self._database) as (session, now):
            self._database.lock(session, f"menu:{self._shop}:{menu_id}")
            found = chains.newest(session, self._shop, menu_id)
            made = self._followed(session, now, menu_id, found) if found.is_behind else None
        return made or self.get(menu_id)  # where another process was first

    def _followed(self, session: Session, now: datetime, menu_id: str, found: chains.Newest) -> MenuVersion:
        """Make the shop's next version of its chain's newest, with what is the shop's own on it."""
        base = self._base(session, menu_id, found)
        if base is None:
            raise LookupError(f"nothing of {menu_id} to follow")
        row = session.get(MenuRow, (self._shop, menu_id, found.version)) if found.version else None
        local = chains.local_of(row, base.shop)
        stored = self._next(local.on(base.menu), found, now)
        self._add(session, stored, base, local)
        old = self._read(session, menu_id, found.version)
        unused = local.unused(base.menu)
        told_menu(
            self._database, session, stored, old, chains.FOLLOWING, action="menu.followed", unused=unused
        )
        log.info("menu.followed", menu=menu_id, version=stored.version, shop=self._shop, unused=len(unused))
        return stored

    def _catch_up(self) -> None:
        """Have a version of each of the chain's menus that there is none of yet, or only of an older one."""
        with glancing(self._database) as session:
            missing = chains.behind(session, self._shop)
        for menu_id in missing:
            self._follow(menu_id)

    def _base(self, session: Session, menu_id: str, found: chains.Newest) -> MenuVersion | None:
        """The newest version of the chain's menu; None where there is no chain, or it has no such menu."""
        if found.chain is None or found.chain_version is None:
            return None
        return self.of(found.chain)._read(session, menu_id, found.chain_version)

    def _read(self, session: Session, menu_id: str, version: int | None) -> MenuVersion | None:
        """A version as it is remembered, or stands in the database; None for one that is not there."""
        if version is None:
            return None
        if (known := self._versions.find(self._shop, menu_id, version)) is not None:
            return known
        row = session.get(MenuRow, (self._shop, menu_id, version))
        if row is None:
            return None
        if row.base_shop is None:
            local, found = None, menu_of(row, Menu.model_validate(row.document))
        else:
            base = self.of(row.base_shop)._read(session, menu_id, row.base_version)
            if base is None:
                raise LookupError(f"version {version} of {menu_id} is made of one that is gone")
            local = Local.model_validate(row.document)
            found = menu_of(row, local.on(base.menu))
        self._versions.keep(found, local)
        return found

    def _next(self, menu: Menu, found: chains.Newest, now: datetime) -> MenuVersion:
        number = (found.version or 0) + 1
        return MenuVersion(shop=self._shop, menu=menu, version=number, digest=_digest(menu), created_at=now)

    def _add(
        self, session: Session, stored: MenuVersion, base: MenuVersion | None, local: Local | None
    ) -> None:
        document = stored.menu if local is None else local
        session.add(
            MenuRow(
                shop_id=self._shop,
                **asdict(stored.header),
                document=document.model_dump(mode="json", exclude_defaults=local is not None),
                base_shop=base.shop if base else None,
                base_version=base.version if base else None,
            )
        )

    def _named(self, menu_id: str) -> ColumnElement[bool]:
        return and_(MenuRow.shop_id == self._shop, MenuRow.id == menu_id)


@lru_cache(maxsize=64)
def _newest_headers(shop: str) -> Select[*tuple[Any, ...]]:
    """Made once a shop: putting it together took a third of the time of a list."""
    newer = aliased(MenuRow)
    same = (newer.shop_id == MenuRow.shop_id) & (newer.id == MenuRow.id)
    is_newest = ~exists().where(same, newer.version > MenuRow.version)
    return select(*_HEADER).where(of_shop(MenuRow, shop), is_newest).order_by(MenuRow.id)


def _digest(menu: Menu) -> str:
    # Not of sorted keys: the order of a menu's prices is the order of its sizes.
    return hashlib.sha256(menu.model_dump_json().encode()).hexdigest()
