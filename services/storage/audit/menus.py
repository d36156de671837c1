"""What the audit log says of a new version of a menu: what differs from the one before, prices by themselves.

The versions are immutable rows, and the entry holds the digest of its version, so the whole document can be
compared with it for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.menu import Note
from schemas.records.menus import MenuVersion
from schemas.shops.audit import Actor
from schemas.shops.menu_diff import Step, steps
from services.storage.audit.log import record

# An import may change all of a menu of 10,000 items; the digest stands for what is not listed.
MAX_STEPS = 500


def told_menu(
    database: Database,
    session: Session,
    new: MenuVersion,
    old: MenuVersion | None,
    by: Actor,
    *,
    action: str,
    unused: Sequence[Note] = (),
) -> None:
    """One entry for the version, and one more where something costs another price than before. `unused` are
    marks of a shop that fit nothing of its chain's menu any more."""
    about = ("menu", new.menu.id)
    is_now: dict[str, Any] = {"version": new.version, "digest": new.digest}
    if unused:
        is_now["unused"] = dict(unused[:MAX_STEPS])
    if old is None:
        after = is_now | {"items": new.header.items, "currency": new.menu.currency}
        record(
            database, session, new.created_at, shop=new.shop, by=by, action=action, about=about, after=after
        )
        return
    found = list(steps(old.menu, new.menu))
    rest, prices = ([step for step in found if step.is_price is wanted] for wanted in (False, True))
    before, after = _listed(rest)
    was: dict[str, Any] = {"version": old.version, "digest": old.digest}
    record(
        database,
        session,
        new.created_at,
        shop=new.shop,
        by=by,
        action=action,
        about=about,
        before=was | before,
        after=is_now | after,
    )
    if prices:
        before, after = _listed(prices)
        version = {"version": new.version}
        record(
            database,
            session,
            new.created_at,
            shop=new.shop,
            by=by,
            action="price.changed",
            about=about,
            before=before,
            after=version | after,
        )


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
