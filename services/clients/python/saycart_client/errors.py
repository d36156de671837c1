"""Every error of the client. Each says what to do (`hint`) and whether to try again (`retryable`).

SaycartError
├── Unreachable        no answer of saycart's came
├── NotSettled         `wait` gave up; the order goes on
├── InvalidSignature   a webhook that saycart did not sign, or an old one
└── ProblemError       saycart refused, with an RFC 9457 problem
    ├── InvalidRequest     any other 4xx: `problem.errors` names the fields
    ├── NotAllowed         401, 403: the key is unknown, expired or lacks the scope
    ├── NotFound           404: not in this shop
    ├── Conflict           409: it changed since it was read; `order` is how it is now
    └── Unavailable        429, 5xx: come back after `retry_after_s`
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
    hint = "Wait again, follow its events, or take its webhooks."


class InvalidSignature(SaycartError):
    hint = "Answer 401. If it should fit: check the secret, and this machine's clock."


class ProblemError(SaycartError):
    """An answer that is not a success. `retry_after_s` is None when it names no time."""

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


def refused(response: httpx.Response) -> ProblemError | Unreachable:
    """Return the error of an answer that is not a success."""
    status, after = response.status_code, response.headers.get("Retry-After", "")
    kind = _KINDS.get(status, Unavailable if status >= 500 else InvalidRequest)
    seconds = float(after) if after.isdecimal() else None
    try:
        problem, order = Problem.model_validate_json(response.content), response.json().get("order")
    except ValidationError:
        return Unreachable(f"Something else answered: {status} {response.text[:200]}")
    return kind(problem, seconds, Order.model_validate(order) if order else None)
