"""Requests that the caller can fix."""

from __future__ import annotations

from schemas.errors.base import SaycartError


class InputError(SaycartError):
    """The request can't be processed as sent."""

    code = "invalid_input"
    hint = "Fix the request and try again."


class Unauthorized(InputError):
    """No valid credential: nothing is revealed, not even whether a thing exists."""

    code = "unauthorized"
    hint = "Send `Authorization: Bearer KEY`; `saycart keys add` makes a key."


class Forbidden(InputError):
    code = "forbidden"
    hint = "Use a key with that scope (`saycart keys add --scope ...`) or an account that has it."


class NotFound(InputError):
    code = "not_found"
    hint = "Check the id. List calls show what exists."


class RecordingRemoved(NotFound):
    code = "recording_removed"
    hint = "Recordings go when the order is cancelled or erased, if unplayable, or after the shop's limit."


class Conflict(InputError):
    code = "conflict"
    hint = "Fetch it again and decide based on its current state."


class OtherTotal(Conflict):
    hint = "Show the customer what it costs now, and confirm that."
    title = "The cart has another total"


class IdempotencyMismatch(Conflict):
    code = "idempotency_mismatch"
    hint = "Use a new Idempotency-Key for a new order. Repeat a key only with exactly the same body."


class IdempotencyInFlight(Conflict):
    code = "idempotency_in_flight"
    retryable = True
    hint = "Wait, then send the same request again to get the first one's order."


class UnknownMenu(InputError):
    """Not `NotFound`: the URL is right, a field of the body is not. `problems` as in `InvalidMenu`."""

    code = "unknown_menu"
    hint = "`GET /v1/menus` lists the menus; `saycart menu import FILE` adds one."
    problems = (("/menu", "no such menu"),)


class InvalidMenu(InputError):
    """A menu that contradicts itself. `problems` is a list of (JSON pointer, sentence)."""

    code = "invalid_menu"
    hint = "Fix every listed path and import the whole menu again. Nothing was stored."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        shown = "; ".join(f"{path}: {text}" for path, text in problems[:3])
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        super().__init__(f"The menu has {count}: {shown}{more}")
        self.problems = problems


class InvalidCart(InputError):
    """A reviewer's cart that the menu does not allow. `problems` as in `InvalidMenu`."""

    code = "invalid_cart"
    hint = "Choose items, sizes and options from the order's menu version."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems))
        self.problems = problems


class UnknownTask(NotFound):
    """A masked call names a task that isn't registered."""

    code = "unknown_task"

    def __init__(self, name: str, known: list[str]) -> None:
        listed = ", ".join(known) or "none"
        super().__init__(f"No task named {name[:80]!r}", hint=f"Registered tasks: {listed}.")


class UnmaskableSchema(InputError):
    """Found when a schema is registered, never at a call. `problems` as in `InvalidMenu`."""

    code = "unmaskable_schema"
    hint = "Fix every listed place. The mask's limits are in docs/masked.md."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems))
        self.problems = problems
