"""The calls of both clients: each returns an order, or the coroutine of one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from saycart_client.calls import MOVING, POLL_S, Call, Recording, given, said
from saycart_client.errors import NotSettled
from saycart_client.models import CartDraft, Choice, Order, OrderEvent

Live = TypeVar("Live")


class Shop(ABC, Generic[Live]):
    """One shop, by its key. Calls raise the errors of `saycart_client.errors`; what may be repeated is sent
    again, after the time that the API asks for."""

    def order(
        self,
        what: str | Recording,
        menu: str | None = None,
        *,
        confirm: bool = False,
        metadata: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Live:
        """Order by text, or by a recording as bytes or a path.

        Args:
            menu: its id; may be left out with a recording if the shop has only one.
            confirm: show the cart to the customer before the order is completed.
            metadata: a note of yours of up to 8000 bytes, which comes back with the order.
            idempotency_key: the same key and order bring back the first one; by default a new key.
        """
        fields = {"menu": menu, "confirm": confirm, "metadata": metadata}
        return self._live(said("/v1/orders", what, idempotency_key, **fields))

    def get(self, order_id: str) -> Live:
        """Get an order by its id."""
        return self._live(Call("GET", f"/v1/orders/{order_id}"))

    @abstractmethod
    def _live(self, call: Call) -> Live:
        """Send a call, again where that is safe and may help; return the order that it answers with."""


class Placed(Order, Generic[Live]):
    """An order as it was read, and what can be done with it; each call returns it as it then is."""

    _shop: Any

    def answer(self, choice: Choice | str) -> Live:
        """Answer its question by one of the `answers`, or that one's id; ValueError without a question."""
        if self.question is None:
            raise ValueError(f"Order {self.id} has no question.")
        answer = choice if isinstance(choice, str) else choice.id
        sent = {"question": self.question.id, "answer": answer, "version": self.version}
        return self._post("answer", sent)

    def say(self, what: str | Recording, *, idempotency_key: str | None = None) -> Live:
        """Add what the customer says or types next, by text or by a recording; then `wait` again."""
        found: Live = self._shop._live(said(f"/v1/orders/{self.id}/utterances", what, idempotency_key))
        return found

    def confirm(self, cart: CartDraft | None = None) -> Live:
        """Say the customer's yes to this cart and total, or to the `cart` they made of it."""
        total = self.cart.total if self.cart and cart is None else None
        return self._post(
            "confirm", given(version=self.version, total=total, cart=cart and cart.model_dump())
        )

    def take(self) -> Live:
        """Take it: the shop makes it now, and it can't be cancelled any more."""
        return self._post("taken")

    def cancel(self) -> Live:
        """Cancel it."""
        return self._post("cancel")

    def _post(self, what: str, body: dict[str, Any] | None = None) -> Live:
        """Take a step with the order. A body names what was read, so sent twice it would be refused."""
        sent = {"json": body} if body else {}
        call = Call("POST", f"/v1/orders/{self.id}/{what}", sent, repeatable=body is None)
        found: Live = self._shop._live(call)
        return found

    def _poll(self, end: float) -> Call | None:
        """The next long poll, until `end` by the monotonic clock; None once it is settled."""
        if self.status not in MOVING:
            return None
        if (left_s := end - time.monotonic()) <= 0:
            raise NotSettled(f"Order {self.id} is still {self.status}.")
        return Call("GET", f"/v1/orders/{self.id}", {"params": {"wait": min(left_s, POLL_S)}})

    def _events(self, after: int) -> Call:
        return Call("GET", f"/v1/orders/{self.id}/events", {"headers": {"Last-Event-ID": str(after)}})


def event_of(line: str) -> OrderEvent | None:
    """Return the event of a line of a stream; None for any other line."""
    data = line.removeprefix("data:")
    return None if data == line else OrderEvent.model_validate_json(data)
