"""The methods of both clients: each returns an order, or a coroutine of one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from saycart_client.calls import MOVING, POLL_S, Call, Recording, utterance, without_none
from saycart_client.errors import NotSettled
from saycart_client.models import CartDraft, Choice, Order, OrderEvent

Live = TypeVar("Live")


class BaseSaycart(ABC, Generic[Live]):
    """A client of one shop. Calls raise the errors of `saycart_client.errors`, after retries where these are
    safe, at the time that the API asks for."""

    def order(
        self,
        content: str | Recording,
        menu: str | None = None,
        *,
        confirm: bool = False,
        metadata: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Live:
        """Order by text, or by a recording as bytes or a path.

        Args:
            menu: its id; optional for a recording if the shop has only one menu.
            confirm: ask for the customer's confirmation before the order is completed.
            metadata: your own data, up to 8000 bytes, returned with the order.
            idempotency_key: repeating an order with its key returns the first one; default: a new key.
        """
        fields = {"menu": menu, "confirm": confirm, "metadata": metadata}
        return self._live(utterance("/v1/orders", content, idempotency_key, **fields))

    def get(self, order_id: str) -> Live:
        """Get an order by its id."""
        return self._live(Call("GET", f"/v1/orders/{order_id}"))

    @abstractmethod
    def _live(self, call: Call) -> Live:
        """Send a call, with retries if these are safe; return the order in its response."""


class BaseOrder(Order, Generic[Live]):
    """An order as of its last response, with methods that return its new state."""

    _client: Any

    def answer(self, choice: Choice | str) -> Live:
        """Answer its question with one of the `answers` or its id; raises ValueError without a question."""
        if self.question is None:
            raise ValueError(f"Order {self.id} has no question.")
        answer = choice if isinstance(choice, str) else choice.id
        sent = {"question": self.question.id, "answer": answer, "version": self.version}
        return self._post("answer", sent)

    def say(self, content: str | Recording, *, idempotency_key: str | None = None) -> Live:
        """Add another utterance, as text or a recording; then `wait` again."""
        call = utterance(f"/v1/orders/{self.id}/utterances", content, idempotency_key)
        order: Live = self._client._live(call)
        return order

    def confirm(self, cart: CartDraft | None = None) -> Live:
        """Confirm this cart and total for the customer, or the `cart` as they edited it."""
        total = self.cart.total if self.cart and cart is None else None
        body = without_none(version=self.version, total=total, cart=cart and cart.model_dump())
        return self._post("confirm", body)

    def take(self) -> Live:
        """Mark it as being made: it can't be cancelled any more."""
        return self._post("taken")

    def cancel(self) -> Live:
        """Cancel it."""
        return self._post("cancel")

    def _post(self, action: str, body: dict[str, Any] | None = None) -> Live:
        """Post an action. A body has the order's version, so a repetition would be refused."""
        sent = {"json": body} if body else {}
        call = Call("POST", f"/v1/orders/{self.id}/{action}", sent, repeatable=body is None)
        order: Live = self._client._live(call)
        return order

    def _poll(self, end: float) -> Call | None:
        """Return the next long poll, until `end` on the monotonic clock; None once the order is settled."""
        if self.status not in MOVING:
            return None
        if (left_s := end - time.monotonic()) <= 0:
            raise NotSettled(f"Order {self.id} is still {self.status}.")
        return Call("GET", f"/v1/orders/{self.id}", {"params": {"wait": min(left_s, POLL_S)}})

    def _events(self, after: int) -> Call:
        return Call("GET", f"/v1/orders/{self.id}/events", {"headers": {"Last-Event-ID": str(after)}})


def parse_event(line: str) -> OrderEvent | None:
    """Return the event in a line of a stream, if it has one."""
    data = line.removeprefix("data:")
    return None if data == line else OrderEvent.model_validate_json(data)
