"""Where suggested names come from and what was decided about them, of one shop's menus (ADR 67).

What customers said is read out of orders and never stored a second time: it is gone with their words. What is
kept of a decision is a mark, by which the same name is known when it is found again. Only what a model
thought of stands here in words, until somebody decides on it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from infra.sql.database import Database
from schemas.cart import Cart
from schemas.naming import Suggestion
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import reading, writing
from services.storage.base.ids import new_id
from services.storage.base.mapping import cart_of
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import EventRow, OrderRow, ReviewRow
from services.storage.base.tables_names import NameSuggestionRow

MOST_ORDERS, DAYS = 20_000, 90
"""Of a shop, looked at for names: the newest, and not older."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """An order that staff corrected: its cart before and after, and the words that the menu has nothing for,
    those that follow each other together."""

    order: str
    before: Cart
    after: Cart
    odd: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An order that its customer settled by an answer: what was asked, by its id, and the cart then."""

    order: str
    question: str
    cart: Cart


@dataclass(frozen=True, slots=True)
class Mark:
    """One decision. Its key is the row's own, so that marks of two shops tell nothing of each other."""

    id: str
    mark: str

    def fits(self, about: str) -> bool:
        """Whether it was about this: `thing` and folded words of a name, in one text."""
        return hmac.compare_digest(self.mark, _mark(self.id, about))


class NameStore:
    """Every call is one transaction, and may raise StorageUnavailable."""

    def __init__(self, database: Database, shop: str) -> None:
        self._database, self._shop = database_of(database, shop), shop

    def corrected(self, menu_id: str) -> list[Corrected]:
        """The newest orders that staff corrected and whose words are still there."""
        columns = OrderRow.id, ReviewRow.proposed, OrderRow.cart, OrderRow.evidence
        is_correction = (ReviewRow.status == "decided") & (ReviewRow.decision == "correct")
        found = []
        for order, proposed, cart, evidence in self._newest(menu_id, columns, ReviewRow, is_correction):
            before, after = cart_of(proposed), cart_of(cart)
            if before is not None and after is not None:
                found.append(Corrected(order, before, after, _odd(evidence)))
        return found

    def answered(self, menu_id: str) -> list[Answered]:
        """The newest orders that their customers settled by an answer, likewise."""
        columns = OrderRow.id, EventRow.detail, OrderRow.cart
        is_answer = EventRow.type.in_(["answered", "chosen", "proposed"])
        found = []
        for order, detail, cart in self._newest(menu_id, columns, EventRow, is_answer):
            shown = cart_of(cart)
            if shown is not None and isinstance(asked := detail.get("question"), str):
                found.append(Answered(order, asked, shown))
        return found

    def thought_of(self, menu_id: str) -> list[tuple[str, str]]:
        """Names of a model that nobody has decided on: thing and words, as they came."""
        query = select(NameSuggestionRow.thing, NameSuggestionRow.words)
        query = query.where(self._of(menu_id), NameSuggestionRow.state == "open")
        with reading(self._database) as session:
            rows = session.execute(query.order_by(NameSuggestionRow.created_at, NameSuggestionRow.id))
            return [(thing, words) for thing, words in rows if words is not None]

    def think_of(self, menu_id: str, names: Iterable[tuple[str, str]]) -> None:
        """Keep a model's names in place of those that it thought of before: thing and words."""
        undecided = delete(NameSuggestionRow).where(self._of(menu_id), NameSuggestionRow.state == "open")
        with writing(self._database) as (session, now):
            self._database.lock(session, f"names:{self._shop}:{menu_id}")
            session.execute(undecided)
            session.add_all(
                NameSuggestionRow(
                    id=new_id("nam"),
                    shop_id=self._shop,
                    menu_id=menu_id,
                    thing=thing,
                    source="model",
                    mark="",
                    words=words,
                    state="open",
                    created_at=now,
                )
                for thing, words in names
            )

    def decided(self, menu_id: str) -> list[Mark]:
        """What was accepted or refused so far."""
        query = select(NameSuggestionRow.id, NameSuggestionRow.mark)
        with reading(self._database) as session:
            rows = session.execute(query.where(self._of(menu_id), NameSuggestionRow.state != "open"))
            return [Mark(*row) for row in rows]

    def decide(self, menu_id: str, name: Suggestion, about: str, *, accepted: bool, by: Actor) -> None:
        """Remember what was decided of a name, by its mark; `about` as in `Mark.fits`. A refusal is told in
        the audit log; an acceptance is there as the menu's edit."""
        undecided = delete(NameSuggestionRow).where(
            self._of(menu_id),
            NameSuggestionRow.state == "open",
            NameSuggestionRow.thing == name.thing,
            NameSuggestionRow.words == name.words,
        )
        with writing(self._database) as (session, now):
            session.execute(undecided)
            row_id = new_id("nam")
            session.add(
                NameSuggestionRow(
                    id=row_id,
                    shop_id=self._shop,
                    menu_id=menu_id,
                    thing=name.thing,
                    source=name.source,
                    mark=_mark(row_id, about),
                    state="accepted" if accepted else "refused",
                    decided_by=by.name,
                    created_at=now,
                    decided_at=now,
                )
            )
            if not accepted:
                told = {"thing": name.thing, "source": name.source}
                record(
                    self._database,
                    session,
                    now,
                    shop=self._shop,
                    by=by,
                    action="name.refused",
                    about=("menu", menu_id),
                    after=told,
                )

    def _of(self, menu_id: str) -> Any:
        return of_shop(NameSuggestionRow, self._shop) & (NameSuggestionRow.menu_id == menu_id)

    def _newest(self, menu_id: str, columns: tuple[Any, ...], beside: Any, which: Any) -> list[Any]:
        """Of a menu's orders with their rows of `beside`, newest first. How many orders are looked at is
        bounded by an index, however many there are."""
        with reading(self._database) as session:
            since = self._database.now(session) - timedelta(days=DAYS)
            newest = select(OrderRow.id, OrderRow.created_at)
            newest = newest.where(of_shop(OrderRow, self._shop), OrderRow.created_at >= since)
            newest = newest.order_by(OrderRow.created_at.desc(), OrderRow.id.desc()).limit(MOST_ORDERS)
            looked_at = newest.subquery()
            query = (
                select(*columns)
                .select_from(looked_at)
                .join(beside, beside.order_id == looked_at.c.id)
                .join(OrderRow, OrderRow.id == looked_at.c.id)
                .where(which, OrderRow.menu_id == menu_id, OrderRow.erased_at.is_(None))
                .order_by(looked_at.c.created_at.desc(), looked_at.c.id.desc())
            )
            return list(session.execute(query))


def _odd(evidence: Any) -> tuple[str, ...]:
    """Of a kept document (`services/pipeline/kept_evidence.py`); nothing where another release wrote it."""
    try:
        return tuple(str(one["words"]) for one in evidence["evidence"]["off_menu"])
    except (KeyError, TypeError):
        return ()


def _mark(key: str, about: str) -> str:
    return hmac.new(key.encode(), about.encode(), hashlib.sha256).hexdigest()
