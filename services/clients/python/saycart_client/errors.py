"""The errors of the client. Each says what to do (`hint`) and whether to try again (`retryable`).

SaycartError
├── Unreachable        no response from saycart
├── NotSettled         `wait` timed out; the order is still being processed
├── InvalidSignature   a webhook not signed by saycart, or too old
└── ProblemError       an RFC 9457 problem
    ├── InvalidRequest     any other 4xx: `problem.errors` names the fields
    ├── NotAllowed         401, 403: the key is unknown or expired, or lacks the scope
    ├── NotFound           404: not in this shop
    ├── Conflict           409: it has changed; `order` is its current state
    └── Unavailable        429, 5xx: try again after `retry_after_s`
"""

from __future__ import annotations

import httpx
from pydantic import ValidationError

from saycart_client.models import Order, Problem


class SaycartError(Exception):
    retryable = False
    hint = ""


class Unreachable(SaycartError):
    retryable = True
    hint = "Check the address, that saycart is running, and any proxy in between."


class NotSettled(SaycartError):
    retryable = True
    hint = "Wait again, follow its events, or use webhooks."


class InvalidSignature(SaycartError):
    hint = "Answer with 401. If it is genuine, check the secret and this machine's clock."


class ProblemError(SaycartError):
    """An error response. `retry_after_s` is None if it has no Retry-After."""

    def __init__(self, problem: Problem, retry_after_s: float | None, order: Order | None) -> None:
        fields = "".join(f"\n  {error.pointer}: {error.detail}" for error in problem.errors)
        super().__init__(f"{problem.status} {problem.detail}{fields}\n{problem.hint}")
        self.problem = problem
        self.retry_after_s = retry_after_s
        self.order = order
        self.retryable = problem.retryable
        self.hint = problem.hint


class InvalidRequest(ProblemError): ...


class NotAllowed(ProblemError): ...


class NotFound(ProblemError): ...


class Conflict(ProblemError): ...


class Unavailable(ProblemError): ...


_KINDS = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 429: Unavailable}


def error_of(response: httpx.Response) -> ProblemError | Unreachable:
    """Return the error for an unsuccessful response."""
    status, after = response.status_code, response.headers.get("Retry-After", "")
    kind = _KINDS.get(status, Unavailable if status >= 500 else InvalidRequest)
    seconds = float(after) if after.isdecimal() else None
    try:
        problem, order = Problem.model_validate_json(response.content), response.json().get("order")
    except ValidationError:
        return Unreachable(f"The response is not from saycart: {status} {response.text[:200]}")
    return kind(problem, seconds, Order.model_validate(order) if order else None)
