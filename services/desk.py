"""One shop's desk: all that a caller may reach, by the shop that its credential names.

The API and the pages have no other way to orders, reviews and menus. Its stores are bound to the shop, so
that what belongs to another is not there, whatever id is asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import structlog

from infra.blobs.store import Blobs, Opened
from infra.observability import tracing
from infra.settings import Settings
from schemas.errors import Conflict, Forbidden, NotFound, StaleState
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.question import CustomerAnswer
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord, Outcome
from schemas.records.reviews import Decided, ReviewRecord
from schemas.review import ReviewDecision
from schemas.shops.access import Access
from schemas.shops.audit import Actor
from services.bootstrap import Container
from services.pipeline.ports import Doorbell
from services.recordings import reading
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.privacy.erasure import ErasureStore
from services.storage.reviews.log import ReviewLog
from services.storage.reviews.statistics import decided
from services.storage.reviews.store import ReviewStore
from services.storage.shops.menus import MenuStore

if TYPE_CHECKING:
    from services.decoding.masked.answering import Answering

log = structlog.get_logger(__name__)


class Desk:
    """For the length of one request; `access` is what its credential came to."""

    def __init__(self, box: Container, access: Access, by: Actor) -> None:
        """`by`: who acts, for the audit log."""
        self._box, self.access, self.by = box, access, by
        self.settings: Settings = box.settings
        self.orders = OrderStore(box.database, access.shop)
        self.reviews = ReviewStore(box.database, access.shop)
        self.review_log = ReviewLog(box.database, access.shop)
        self.menus: MenuStore = box.menus.of(access.shop)
        self.erasures = ErasureStore(box.database, access.shop)
        self.endpoints = EndpointStore(box.database, access.shop, box.settings.webhook_endpoints)

    @property
    def shop(self) -> str:
        return self.access.shop

    @cached_property
    def person(self) -> str:
        """Who decides, by the credential alone.

        Raises:
            Forbidden: the credential is not a person's.
        """
        if self.access.person is None:
            raise Forbidden(
                "Reviews need a person, and this key doesn't act for one.",
                hint="Make a key for one: `saycart keys add --scope reviews --person NAME`.",
            )
        return self.access.person

    @property
    def blobs(self) -> Blobs:
        return self._box.blobs

    def recording(self, key: str) -> Opened:
        """A recording, to be read; raises as `services.recordings.reading`."""
        with reading():
            return self.blobs.opened(key)

    @property
    def masked(self) -> Answering:
        """The registered tasks: of the deployment, the same for each shop. They keep nothing of anybody's."""
        return self._box.masked

    @property
    def doorbell(self) -> Doorbell:
        return self._box.doorbell

    def check_menu(self, menu: Menu) -> None:
        """Compile the menu's grammar before it serves; raises InvalidMenu."""
        from services.decoding.wire_mask import check_menu

        check_menu(menu)

    def menu_of(self, order: OrderRecord) -> MenuVersion:
        """The menu version that an order began with."""
        return self.menus.get(order.menu_id, order.menu_version)

    def decided(self, hours: int) -> Decided:
        """What the shop's reviewers decided in so many hours."""
        return decided(self._box.database, self.shop, hours)

    def cancel_order(self, order_id: str) -> OrderRecord:
        """End an order and remove its recording; errors as the order store's `cancel`."""
        cancelled = self.orders.cancel(order_id)
        self._box.remove_recordings(order_id)
        return cancelled

    def erase_order(self, order_id: str) -> OrderRecord:
        """Erase what an order's customer said and remove its recording; errors as the erasure store's."""
        erased = self.erasures.erase(order_id, by=self.by)
        self._box.remove_recordings(order_id)
        return erased

    def erase_customer(self, key: str, value: str) -> tuple[list[str], list[str]]:
        """The same for each order whose metadata has this text under `key`: those that are erased, and those
        that are still under way, which stay as they are."""
        erased, under_way = list[str](), list[str]()
        for order_id in self.erasures.of_customer(key, value):
            try:
                self.erase_order(order_id)
                erased.append(order_id)
            except Conflict:
                under_way.append(order_id)
            except NotFound:
                continue  # retention was faster
        return erased, under_way

    def settle_review(self, order: OrderRecord, decision: ReviewDecision) -> Outcome:
        """What a reviewer's decision makes of the order; raises InvalidCart."""
        from services.pipeline.review import settle

        return settle(order, decision, self.person, self.menu_of(order))

    def answer_order(self, order_id: str, answer: CustomerAnswer) -> OrderRecord:
        """Settle an order by the customer's answer to its one question.

        Raises:
            NotFound, Conflict, InvalidCart, StaleState: as the order store's `answer` and `settle_by_answer`.
        """
        from services.pipeline.review import settle_by_answer

        order = self.orders.get(order_id)
        with tracing.span("answer", {"saycart.order.id": order_id}, link=order.traceparent):
            outcome = settle_by_answer(order, answer, self.menu_of(order), self._box.policy)
            answered = self.orders.answer(order, outcome)
        if answered.state is State.CANCELLED:
            self._box.remove_recordings(order_id)
        log.info("order.answered", order_id=order_id, question=answer.question, answer=answer.answer)
        return answered

    def reject_visitor(self, review_id: str, reason: str) -> tuple[list[str], list[str]]:
        """Reject each waiting order that came from the same address to the same page as this review's, in a
        transaction of its own; ids of the reviews that are decided, and of those that are not: held by a
        colleague, changed meanwhile, or in want of a second person.

        Raises:
            Forbidden, NotFound: as `decide_review`.
            Conflict: the order came from no page, or none of its address waits.
        """
        if not (waiting := self.reviews.of_visitor(review_id)):
            raise Conflict(
                "No orders from this visitor's address are waiting",
                hint="Reject this order alone, unless it is settled.",
            )
        rejected, left = list[str](), list[str]()
        for review in waiting:
            decision = ReviewDecision(action="reject", version=review.version, reason=reason)
            try:
                done = self.decide_review(review.id, decision, held=False).status == "decided"
            except (Conflict, StaleState):
                done = False
            (rejected if done else left).append(review.id)
        return rejected, left

    def decide_review(self, review_id: str, decision: ReviewDecision, *, held: bool = True) -> ReviewRecord:
        """Settle a review, or let the decision stand for a second person; the review as it is then. `held`:
        as of the review store.

        Raises:
            Forbidden: the credential is not a person's.
            NotFound, Conflict, InvalidCart, StaleState: as the review store's `decide` and `settle_review`.
        """
        reviewer, review = self.person, self.reviews.get(review_id)
        if review.version != decision.version:
            # Before the cart is looked at: a cart against an old reading is not worth complaining about.
            raise Conflict(f"The review is at version {review.version}, not {decision.version}")
        reviewed = self.orders.get(review.order_id)
        about = {"saycart.order.id": reviewed.id, "saycart.action": decision.action}
        # Linked and no part of the order's own trace: it comes in a person's request, days later perhaps.
        with tracing.span("decide review", about, link=reviewed.traceparent):
            decided, order = self.reviews.decide(
                review_id,
                reviewer=reviewer,
                version=decision.version,
                action=decision.action,
                reason=decision.reason,
                outcome=self.settle_review(reviewed, decision),
                second_above=self.settings.second_review_above,
                held=held,
                by=self.by,
            )
        name = "review.decided" if decided.status == "decided" else "review.awaits_second"
        log.info(name, order_id=order.id, review_id=review_id, action=decision.action)
        return decided

    def cart_schema(self, menu_id: str | None) -> dict[str, Any]:
        """The published JSON Schema; with a menu, closed to its newest version. Raises NotFound."""
        from services.decoding.json_schema import cart_schema

        if menu_id is None:
            return cart_schema()
        stored = self.menus.get(menu_id)
        return cart_schema(stored.menu, stored.version)
