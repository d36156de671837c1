"""Limits and overload: wait, then try again."""

from __future__ import annotations

from schemas.errors.base import SaycartError, again
from schemas.errors.requests import InputError


class TooManyOrders(InputError):
    """A client has `waiting` unprocessed orders; it should try again in `wait_s` seconds."""

    code = "too_many_orders"
    retryable = True
    hint = "Nothing was stored. Wait, then try again."

    def __init__(self, waiting: int, wait_s: float) -> None:
        super().__init__(
            f"{waiting} orders from this client are already waiting; {again(wait_s)}", wait_s=wait_s
        )


class TooManyAttempts(InputError):
    """Too many failed sign-ins; the next attempt is checked in `wait_s` seconds."""

    code = "too_many_attempts"
    retryable = True
    hint = "Wait, then try again."

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Too many attempts; {again(wait_s)}", wait_s=wait_s)


class TooManyRequests(InputError):
    """Over a limit of what is sent: its name is `limit`, its HTTP headers `headers`; the request fits
    again in `wait_s` seconds."""

    code = "too_many_requests"
    retryable = True
    hint = "Nothing was done. Wait, then try again."

    def __init__(self, limit: str, detail: str, wait_s: float, headers: dict[str, str]) -> None:
        super().__init__(f"{detail}; {again(wait_s)}", wait_s=wait_s)
        self.limit = limit
        self.headers = headers


class Overloaded(SaycartError):
    """As `TooManyOrders`, for all clients together."""

    code = "overloaded"
    retryable = True
    hint = "Nothing was stored. Wait, then try again."

    def __init__(self, orders: int, wait_s: float) -> None:
        super().__init__(f"{orders} orders are already waiting; {again(wait_s)}", wait_s=wait_s)


class SignInBusy(SaycartError):
    """Passwords are hashed a few at a time, and the queue is full; nothing was checked."""

    code = "sign_in_busy"
    retryable = True
    hint = "Wait a moment, then try again."

    def __init__(self) -> None:
        super().__init__("Too many people are signing in; try again in a few seconds", wait_s=2.0)


class MaskedBusy(SaycartError):
    """Masked calls share the decode servers with orders, so each process limits how many it runs."""

    code = "masked_busy"
    retryable = True
    hint = "Wait a moment, then try again. Nothing was sent to the model."
    wait_s = 2.0

    def __init__(self, in_hand: int) -> None:
        super().__init__(f"{in_hand} masked calls are already running; try again in a few seconds")
