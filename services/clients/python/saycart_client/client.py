"""The client: `Saycart(key).order("a latte", menu="cafe").wait()`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Self

import httpx

from saycart_client import calls
from saycart_client.calls import Action, Call, Recording
from saycart_client.errors import SaycartError, refused
from saycart_client.models import CartDraft, Choice, Order, OrderEvent, ReviewDetail, ReviewPage


class Saycart:
    """One shop, by its key. Calls raise the errors of `saycart_client.errors`; what may be repeated is sent
    again, after the time that the API asks for."""

    def __init__(self, key: str, url: str = calls.URL, *, http: httpx.Client | None = None) -> None:
        """`http`: a client of your own, with a proxy or certificates."""
        self._http = http or httpx.Client(timeout=calls.TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def order(
        self,
        what: str | Recording,
        menu: str | None = None,
        *,
        confirm: bool = False,
        metadata: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> LiveOrder:
        """Order by text, or by a recording as bytes or a path.

        Args:
            menu: its id; may be left out with a recording if the shop has only one.
            confirm: show the cart to the customer before the order is completed.
            metadata: a note of yours of up to 8000 bytes, which comes back with the order.
            idempotency_key: the same key and order bring back the first one; by default a new key.
        """
        return self._live(calls.create(what, idempotency_key, confirm, menu=menu, metadata=metadata))

    def get(self, order_id: str) -> LiveOrder:
        """Get an order by its id."""
        return self._live(Call("GET", f"/v1/orders/{order_id}"))

    def reviews(self, cursor: str | None = None) -> ReviewPage:
        """List reviews, longest waiting first; all calls of reviews need the scope `reviews`."""
        call = Call("GET", "/v1/reviews", {"params": {"cursor": cursor} if cursor else {}})
        return ReviewPage.model_validate_json(self.send(call))

    def claim(self, review_id: str) -> ReviewDetail:
        """Claim a review for some minutes; claiming again renews it."""
        call = Call("POST", f"/v1/reviews/{review_id}/claim", {"json": {}})
        return ReviewDetail.model_validate_json(self.send(call))

    def decide(
        self, review: ReviewDetail, action: Action, cart: CartDraft | None = None, reason: str | None = None
    ) -> ReviewDetail:
        """Approve the order, correct it by a whole `cart`, or reject it with a `reason`."""
        return ReviewDetail.model_validate_json(self.send(calls.decide(review, action, cart, reason)))

    def send(self, call: Call) -> bytes:
        """Send a call, again where that is safe and may help; return the body of the answer."""
        tries = 0
        while True:
            tries += 1
            try:
                response = self._http.request(call.method, call.path, **call.sent)
                if response.is_success:
                    return response.content
                raise refused(response)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))

    def _live(self, call: Call) -> LiveOrder:
        order = LiveOrder.model_validate_json(self.send(call))
        order._client = self
        return order


class LiveOrder(Order):
    """An order as it was read, and what can be done with it; each call gives it back as it then is."""

    _client: Saycart

    def wait(self, timeout_s: float = 120) -> LiveOrder:
        """Wait until it has ended, or waits for its customer or the staff; raises NotSettled."""
        order, end = self, time.monotonic() + timeout_s
        while call := calls.poll(order, end):
            order = self._client._live(call)
        return order

    def answer(self, choice: Choice | str) -> LiveOrder:
        """Answer its question by one of the `answers`, or that one's id."""
        return self._client._live(calls.answer(self, choice))

    def say(self, what: str | Recording, *, idempotency_key: str | None = None) -> LiveOrder:
        """Add what the customer says or types next, by text or by a recording; then `wait` again."""
        return self._client._live(calls.say(self, what, idempotency_key))

    def confirm(self, cart: CartDraft | None = None) -> LiveOrder:
        """Say the customer's yes to this cart and total, or to the `cart` they made of it."""
        return self._client._live(calls.confirm(self, cart))

    def take(self) -> LiveOrder:
        """Take it: the shop makes it now, and it can't be cancelled any more."""
        return self._client._live(Call("POST", f"/v1/orders/{self.id}/taken"))

    def cancel(self) -> LiveOrder:
        """Cancel it."""
        return self._client._live(Call("POST", f"/v1/orders/{self.id}/cancel"))

    def events(self) -> Iterator[OrderEvent]:
        """Follow it from its first event to its end, over as many streams as that takes."""
        after = tries = 0
        while True:
            headers, tries = {"Last-Event-ID": str(after)}, tries + 1
            call = Call("GET", f"/v1/orders/{self.id}/events", {"headers": headers})
            try:
                with self._client._http.stream(call.method, call.path, **call.sent) as response:
                    if not response.is_success:
                        response.read()
                        raise refused(response)
                    for line in response.iter_lines():
                        tries = 1
                        if line.startswith("data:"):
                            event = OrderEvent.model_validate_json(line.removeprefix("data:"))
                            yield event
                            after = event.seq
                            if event.status in calls.ENDED:
                                return
                    if response.status_code == 204:  # it had ended before
                        return
                time.sleep(calls.AGAIN_S)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))
