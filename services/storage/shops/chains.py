"""Shops that have their menus from another: a chain keeps one menu, and each shop its prices and what is
sold out (ADR 54).

A version of such a menu is a row of the shop like any other, so that an order keeps it for good; it names the
version of the chain's menu that it is made of and holds `Local`, what is the shop's own. When the chain
imports a new version nothing is written for its shops: each makes its own next version when it is next asked
for its menu. A menu that a shop has imported itself is its own and stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sqlalchemy import Select, String, bindparam, exists, func, select
from sqlalchemy.orm import Session, aliased

from schemas.shops.audit import Actor
from schemas.shops.menu_local import Local
from services.storage.base.tables import MenuRow, ShopRow

FOLLOWING = Actor("system:chain")
"""Who makes a shop's version when the chain's menu has changed."""


@dataclass(frozen=True, slots=True)
class Newest:
    """Numbers of the newest versions of one menu: the shop's own row, and its chain's, where it has one."""

    version: int | None
    base_version: int | None
    chain: str | None
    chain_version: int | None
    is_own: bool

    @property
    def is_behind(self) -> bool:
        """Whether the chain has a version that the shop's newest row is not made of."""
        return not self.is_own and self.chain_version is not None and self.chain_version != self.base_version


def newest(session: Session, shop: str, menu_id: str) -> Newest:
    """What there is of a menu, in one statement; a shop that is none has none."""
    found = session.execute(_newest(), {"shop": shop, "menu": menu_id}).one_or_none()
    if found is None:
        return Newest(None, None, None, None, is_own=False)
    version, base_shop, base_version, chain, chain_version = found
    is_own = version is not None and base_shop is None
    # Of another chain than now: as if there were none yet.
    same = base_version if base_shop == chain else None
    return Newest(version, same, chain, chain_version, is_own)


@cache
def _newest() -> Select[int | None, str | None, int | None, str | None, int | None]:
    """Made once: each order asks it, and putting it together took longer than the database's answer."""
    shop, menu_id = bindparam("shop", type_=String), bindparam("menu", type_=String)
    row, later, chains = aliased(MenuRow), aliased(MenuRow), aliased(MenuRow)
    last = select(func.max(later.version)).where(later.shop_id == shop, later.id == menu_id).scalar_subquery()
    of_chain = (
        select(func.max(chains.version))
        .where(chains.shop_id == ShopRow.menus_of, chains.id == menu_id)
        .correlate(ShopRow)
        .scalar_subquery()
    )
    is_it = (row.shop_id == ShopRow.id) & (row.id == menu_id) & (row.version == last)
    return (
        select(row.version, row.base_shop, row.base_version, ShopRow.menus_of, of_chain)
        .select_from(ShopRow)
        .outerjoin(row, is_it)
        .where(ShopRow.id == shop)
    )


def behind(session: Session, shop: str) -> list[str]:
    """Ids of the chain's menus of which a shop has no version yet that is made of the newest."""
    return list(session.scalars(_behind(), {"shop": shop}))


@cache
def _behind() -> Select[str]:
    """Made once, as `_newest`."""
    base, later, own = aliased(MenuRow), aliased(MenuRow), aliased(MenuRow)
    is_newest = ~exists().where(
        later.shop_id == base.shop_id, later.id == base.id, later.version > base.version
    )
    is_made_of_it = (own.base_shop == base.shop_id) & (own.base_version == base.version)
    has = exists().where(
        own.shop_id == ShopRow.id, own.id == base.id, own.base_shop.is_(None) | is_made_of_it
    )
    query = select(base.id).join(ShopRow, base.shop_id == ShopRow.menus_of)
    it = ShopRow.id == bindparam("shop", type_=String)
    return query.where(it, is_newest, ~has).order_by(base.id)


def local_of(row: MenuRow | None, chain: str) -> Local:
    """What a version holds of its shop's own; nothing where it is made of another chain's menu."""
    if row is None or row.base_shop != chain:
        return Local()
    return Local.model_validate(row.document)


def originals(session: Session, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of shops with menu ids the first of each menu that shops of a chain have together."""
    query = select(ShopRow.id, ShopRow.menus_of).where(ShopRow.menus_of.is_not(None))
    chains = {shop: chain for shop, chain in session.execute(query) if chain}
    if not chains:
        return found
    of_itself = select(MenuRow.shop_id, MenuRow.id).where(MenuRow.base_shop.is_(None)).distinct()
    own = {(shop, menu_id) for shop, menu_id in session.execute(of_itself)}
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for shop, menu_id in found:
        whose = shop if (shop, menu_id) in own else chains.get(shop, shop)
        first.setdefault((whose, menu_id), (shop, menu_id))
    return list(first.values())
