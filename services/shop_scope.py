"""Everything that a caller may access: the orders, reviews and menus of the shop that its credential names.

The API and the pages have no other access. The stores are bound to the shop, so other shops' data isn't found
under any id.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import structlog

from infra.observability import tracing
from infra.settings import Settings
from schemas.errors import Conflict, Forbidden, NotFound, OtherTotal, StaleState
from schemas.lifecycle import STATUS, State
from schemas.menu import Menu, MenuVersion
from schemas.order import Confirmation
from schemas.question import CustomerAnswer, StaffQuestion
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord, ReviewStatistics
from schemas.records.statistics import OrderStatistics
from schemas.review import ReviewDecision
from schemas.shops.access import Access
from schemas.shops.audit import Actor
from services.bootstrap import Container
from services.pipeline.ask_customer import ask
from services.pipeline.review import confirm, settle, settle_by_answer
from services.recordings import delete_unused
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.people.api_keys import KeyStore
from services.storage.people.provider_accounts import ProviderAccounts
from services.storage.people.staff import StaffStore
from services.storage.privacy.erasure import ErasureStore
from services.storage.reviews.store import ReviewStore
from services.storage.shops.menus import MenuStore
from services.storage.statistics import decided, order_statistics

if TYPE_CHECKING:
    from services.decoding.tasks import MaskedTasks
    from services.doorbell import Doorbell

log = structlog.get_logger(__name__)


class ShopScope:
    """One shop's services, for one request; `access` is what the credential grants."""

    def __init__(self, box: Container, access: Access, by: Actor) -> None:
        """`by`: the actor, for the audit log."""
        self._box, self.access, self.by = box, access, by
        self.settings: Settings = box.settings
        self.blobs = box.blobs
        self.orders = OrderStore(box.database, access.shop)
        self.reviews = ReviewStore(box.database, access.shop)
        self.menus: MenuStore = box.menus.of(access.shop)
        self.erasures = ErasureStore(box.database, access.shop)
        self.endpoints = EndpointStore(box.database, access.shop, box.settings.webhook_endpoints)
        self.keys = KeyStore(box.database, access.shop)
        self.staff = StaffStore(box.database, access.shop)
        self.provider_accounts = ProviderAccounts(box.database, access.shop)
        self.sessions, self.second_steps = box.sessions, box.second_steps
        self.shops = box.shops

    @property
    def shop(self) -> str:
        return self.access.shop

    @cached_property
    def person(self) -> str:
        """The reviewer, from the credential alone.

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
    def masked(self) -> MaskedTasks:
        """The registered tasks, the same for every shop; they store nothing."""
        return self._box.masked

    @property
    def doorbell(self) -> Doorbell:
        return self._box.doorbell

    def check_menu(self, menu: Menu) -> None:
        """Compile the menu's grammar; raises InvalidMenu."""
        from services.decoding.wire_mask import check_menu

        check_menu(menu)

    def _drop_recording(self, before: OrderRecord) -> None:
        """Delete the recordings of an order that has just released them."""
        for key in before.recordings:
            delete_unused(self.blobs, key)

    def menu_of(self, order: OrderRecord) -> MenuVersion:
        """Return the order's menu version, as it was when the order was placed."""
        return self.menus.get(order.menu_id, order.menu_version).at(order.created_at)

    def decided(self, days: int) -> ReviewStatistics:
        """Return statistics of the shop's review decisions in the last `days`."""
        return decided(self._box.database, self.shop, days)

    def order_statistics(self, days: int) -> OrderStatistics:
        """Return statistics of the shop's orders of the last `days`, in the time zone of its menus or UTC."""
        menus = (self.menus.get(header.id, header.version).menu for header in self.menus.headers())
        zone = next((menu.time_zone for menu in menus if menu.time_zone), "UTC")
        return order_statistics(self._box.database, self.shop, days, zone)

    def cancel_order(self, order_id: str) -> OrderRecord:
        """Cancel an order and delete its recording; raises as the order store's `cancel`."""
        before = self.orders.get(order_id)
        cancelled = self.orders.cancel(order_id, completed_s=self.settings.cancel_completed_s)
        self._drop_recording(before)
        return cancelled

    def erase_order(self, order_id: str) -> OrderRecord:
        """Erase an order's words and delete its recording; raises as the erasure store's `erase`."""
        before = self.orders.get(order_id)
        erased = self.erasures.erase(order_id, by=self.by)
        self._drop_recording(before)
        return erased

    def erase_customer(self, key: str, value: str) -> tuple[list[str], list[str]]:
        """Erase each order whose metadata has `value` under `key`; return the ids that were erased, and those
        still in progress, which are left alone."""
        erased, in_progress = list[str](), list[str]()
        for order_id in self.erasures.of_customer(key, value):
            try:
                self.erase_order(order_id)
                erased.append(order_id)
            except Conflict:
                in_progress.append(order_id)
            except NotFound:
                continue  # already deleted by retention
        return erased, in_progress

    def answer_order(self, order_id: str, answer: CustomerAnswer) -> OrderRecord:
        """Settle an order by its customer's answer.

        Raises:
            NotFound, Conflict, InvalidCart, StaleState: as the order store's `answer` and `settle_by_answer`.
            Conflict: the order isn't at the answer's version.
        """
        order = self.orders.get(order_id)
        if answer.version is not None:
            _check_version(order, answer.version)
        with tracing.span("answer", {"saycart.order.id": order_id}, link=order.traceparent):
            policy = self._box.policy.of(self.shops.get(self.shop).accepts)
            outcome = settle_by_answer(order, answer, self.menu_of(order), policy)
            answered = self.orders.answer(order, outcome)
        if answered.state is State.CANCELLED:
            self._drop_recording(order)
        log.info("order.answered", order_id=order_id, question=answer.question, answer=answer.answer)
        return answered

    def confirm_order(self, order_id: str, given: Confirmation) -> OrderRecord:
        """Complete an order with the proposed cart, or the one that its customer sends.

        Raises:
            NotFound, InvalidCart: as `services.pipeline.review.confirm`.
            Conflict: it has no cart to confirm, or not at this version.
            OtherTotal: the cart costs something else.
            StaleState: the order has just changed.
        """
        order = self.orders.get(order_id)
        if order.state is not State.PROPOSED:
            raise Conflict(f"The order is {STATUS[order.state]}", title="The order has no cart to confirm")
        _check_version(order, given.version)
        outcome = confirm(order, given.cart, self.menu_of(order))
        if given.total is not None and outcome.cart is not None and outcome.cart.total != given.total:
            raise OtherTotal(f"The cart costs {outcome.cart.total}, not {given.total}")
        confirmed = self.orders.commit(order, outcome)
        log.info("order.confirmed", order_id=order_id, corrected=given.cart is not None)
        return confirmed

    def reject_visitor(self, review_id: str, reason: str) -> None:
        """Reject all waiting orders of a review's visitor (address and page), except those that a colleague
        has claimed or that change meanwhile. Each is a transaction of its own.

        Raises:
            Forbidden, NotFound: as `decide_review`.
            Conflict: the order didn't come from a page, or no order from its address is waiting.
        """
        if not (waiting := self.reviews.of_visitor(review_id)):
            raise Conflict(
                "No orders from this visitor's address are waiting",
                hint="Reject this order alone, unless it is settled.",
            )
        for review in waiting:
            decision = ReviewDecision(action="reject", version=review.version, reason=reason)
            with suppress(Conflict, StaleState):
                self.decide_review(review.id, decision, held=False)

    def decide_review(self, review_id: str, decision: ReviewDecision, *, held: bool = True) -> ReviewRecord:
        """Decide a review and return it; `held` as in the review store.

        Raises:
            Forbidden: the credential is not a person's.
            NotFound, Conflict, InvalidCart, StaleState: as the review store's `decide`, and `settle`.
        """
        reviewer, review = self.person, self.reviews.get(review_id)
        reviewed = self.orders.get(review.order_id)
        about = {"saycart.order.id": reviewed.id, "saycart.action": decision.action}
        # Linked to the order's trace, not part of it: it may come days later, in a person's request.
        with tracing.span("decide review", about, link=reviewed.traceparent):
            decided, order = self.reviews.decide(
                review_id,
                decision,
                settle(reviewed, decision, reviewer, self.menu_of(reviewed)),
                reviewer=reviewer,
                by=self.by,
                held=held,
            )
        log.info("review.decided", order_id=order.id, review_id=review_id, action=decision.action)
        return decided

    def ask_customer(self, review_id: str, given: StaffQuestion) -> ReviewRecord:
        """Ask an order's customer and return the review, now released; raises as `decide_review`."""
        order = self.orders.get(self.reviews.get(review_id).order_id)
        outcome = ask(order, given, self.person, self.menu_of(order).menu)
        lease_s = self.settings.review_lease_s
        asked = self.reviews.ask(review_id, given.version, outcome, reviewer=self.person, lease_s=lease_s)
        log.info("review.asked", order_id=order.id, review_id=review_id)
        return asked


def _check_version(order: OrderRecord, version: int) -> None:
    """Raise Conflict unless the order is at the version that its customer saw."""
    if order.version != version:
        title = "The order has changed since you read it"
        raise Conflict(f"The order is at version {order.version}, not {version}", title=title)
