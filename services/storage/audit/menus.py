"""What the audit log says of a new version of a menu: what differs from the one before, prices by themselves.

The versions are immutable rows, and the entry holds the digest of its version, so the whole document can be
compared with it for good.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from schemas.records.menus import MenuVersion
from schemas.shops.audit import Actor
from schemas.shops.menu_diff import Step, steps
from services.storage.audit.log import record

# An import may change all of a menu of 10,000 items; the digest stands for what is not listed.
MAX_STEPS = 500


def record_menu(
    session: Session,
    new: MenuVersion,
    old: MenuVersion | None,
    by: Actor,
    *,
    action: str,
) -> None:
    """One entry for the version, and one more where something costs another price than before."""
    about = ("menu", new.menu.id)
    is_now: dict[str, Any] = {"version": new.version, "digest": new.digest}
    if old is None:
        after = is_now | {"items": new.header.items, "currency": new.menu.currency}
        record(session, new.created_at, by, action, about, shop=new.shop, after=after)
        return
    found = list(steps(old.menu, new.menu))
    rest, prices = ([step for step in found if step.is_price is wanted] for wanted in (False, True))
    before, after = _listed(rest)
    was: dict[str, Any] = {"version": old.version, "digest": old.digest}
    was_all, is_all = was | before, is_now | after
    record(session, new.created_at, by, action, about, shop=new.shop, before=was_all, after=is_all)
    if prices:
        before, after = _listed(prices)
        after = {"version": new.version} | after
        record(session, new.created_at, by, "price.changed", about, shop=new.shop, before=before, after=after)


def _listed(found: list[Step]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values before and after by pointer; one that is on one side only came or went."""
    shown = found[:MAX_STEPS]
    before = {step.pointer: _plain(step.before) for step in shown if step.kind != "came"}
    after = {step.pointer: _plain(step.after) for step in shown if step.kind != "went"}
    return before, after | ({"more": len(found) - len(shown)} if len(found) > len(shown) else {})


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    return list(value) if isinstance(value, tuple) else value
