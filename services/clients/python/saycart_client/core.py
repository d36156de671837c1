"""What both clients share: the calls, their retries, and an order's methods, which return an order or a
coroutine of one."""

from __future__ import annotations

import json
import random
import time
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

import httpx

from saycart_client.errors import NotSettled, ProblemError, Unreachable, error_of
from saycart_client.models import CartDraft, Choice, Order

URL = "http://127.0.0.1:8420"
TIMEOUT = httpx.Timeout(40.0, connect=5.0)
# Of one long poll; the API allows 30.
POLL_S = 25
MOVING = ("queued", "processing")
TRIES = 4
MAX_PAUSE_S = 30.0

Recording = bytes | Path
Live = TypeVar("Live")
Kind = TypeVar("Kind", bound="BaseOrder[Any]")


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
        return self._utterance("/v1/orders", content, idempotency_key, **fields)

    def get(self, order_id: str) -> Live:
        """Get an order by its id."""
        return self._send("GET", f"/v1/orders/{order_id}")

    def _utterance(self, path: str, content: str | Recording, key: str | None, **fields: Any) -> Live:
        """Send text as JSON or a recording as a file, with an idempotency key so that it is stored once."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        if isinstance(content, str):
            return self._send("POST", path, headers=headers, json=without_none(transcript=content, **fields))
        values = without_none(**fields)
        form = {name: one if isinstance(one, str) else json.dumps(one) for name, one in values.items()}
        # The name only marks it as a file: the API detects the format by the content.
        file = {"audio": ("order", content.read_bytes() if isinstance(content, Path) else content)}
        return self._send("POST", path, headers=headers, data=form, files=file)

    @abstractmethod
    def _send(self, method: str, path: str, *, repeatable: bool = True, **content: Any) -> Live:
        """Send a request, with retries; return the order in its response. `repeatable`: sending it twice has
        the same effect as once."""


class BaseOrder(Order, Generic[Live]):
    """An order as of its last response, with methods that return its new state."""

    _client: BaseSaycart[Live]

    def answer(self, choice: Choice | str) -> Live:
        """Answer its question with one of the `answers` or its id; raises ValueError without a question."""
        if self.question is None:
            raise ValueError(f"Order {self.id} has no question.")
        answer = choice if isinstance(choice, str) else choice.id
        return self._post("answer", question=self.question.id, answer=answer, version=self.version)

    def say(self, content: str | Recording, *, idempotency_key: str | None = None) -> Live:
        """Add another utterance, as text or a recording; then `wait` again."""
        return self._client._utterance(f"/v1/orders/{self.id}/utterances", content, idempotency_key)

    def confirm(self, cart: CartDraft | None = None) -> Live:
        """Confirm this cart and total for the customer, or the `cart` as they edited it."""
        total = self.cart.total if self.cart and cart is None else None
        return self._post("confirm", version=self.version, total=total, cart=cart and cart.model_dump())

    def take(self) -> Live:
        """Mark it as being made: it can't be cancelled any more."""
        return self._post("taken")

    def cancel(self) -> Live:
        """Cancel it."""
        return self._post("cancel")

    def _post(self, action: str, **body: Any) -> Live:
        """Post an action. A body has the order's version, so a repetition would be refused."""
        path, sent = f"/v1/orders/{self.id}/{action}", without_none(**body) or None
        return self._client._send("POST", path, repeatable=sent is None, json=sent)

    def _poll(self, end: float) -> Live:
        """Wait for its next state, until `end` on the monotonic clock at most."""
        if (left_s := end - time.monotonic()) <= 0:
            raise NotSettled(f"Order {self.id} is still {self.status}.")
        return self._client._send("GET", f"/v1/orders/{self.id}", params={"wait": min(left_s, POLL_S)})


def without_none(**body: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in body.items() if value is not None}


def order_in(response: httpx.Response, kind: type[Kind], client: BaseSaycart[Any]) -> Kind:
    """Return the order in a response; raises the error of an unsuccessful one."""
    if not response.is_success:
        raise error_of(response)
    order = kind.model_validate_json(response.content)
    order._client = client
    return order


def pause_s(error: Exception, tries: int, repeatable: bool) -> float:
    """Return the seconds to wait before a retry; raise the error if the request shouldn't be sent again."""
    if isinstance(error, ProblemError):
        retry, after_s = error.retryable, error.retry_after_s
    else:  # the server may have processed it, unless there was no connection
        retry, after_s = repeatable or isinstance(error, httpx.ConnectError), None
        error = Unreachable(str(error) or type(error).__name__)
    pause = 2 ** (tries - 1) * random.uniform(0.5, 1) if after_s is None else after_s  # noqa: S311 (no secret)
    if not retry or tries >= TRIES or pause > MAX_PAUSE_S:
        raise error
    return pause
