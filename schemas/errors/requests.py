"""Root of the error tree, and requests that the caller can fix, or has to repeat later."""

from __future__ import annotations

import math
import re
from typing import Any


class SaycartError(Exception):
    """Root of the tree. `detail` is one sentence for a person; `hint` says what to do about it.

    `detail` is logged, so it never holds customer words or an answer based on them: those go into `quoted`,
    which only reviewers read. `wait_s`: seconds before a retry makes sense, if known. `title` overrides the
    title of the code. `kind` labels the problem in metrics.
    """

    code = "internal"
    kind = "fault"
    retryable = False
    hint = "This is a bug in saycart. Look up the request id in the logs."
    wait_s: float | None = None
    title: str | None = None

    def __init_subclass__(cls, **how: Any) -> None:
        """A class's own `code` is its name: `NotFound` has `not_found`."""
        super().__init_subclass__(**how)
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(
        self,
        detail: str,
        *,
        hint: str | None = None,
        quoted: str = "",
        wait_s: float | None = None,
        title: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.quoted = quoted
        self.hint = self.hint if hint is None else hint
        self.wait_s = self.wait_s if wait_s is None else wait_s
        self.title = self.title if title is None else title

    @property
    def whole(self) -> str:
        """Return `detail` with `quoted`, for a reviewer and never for logs."""
        return f"{self.detail}: {self.quoted}" if self.quoted else self.detail


class InputError(SaycartError):
    code = "invalid_input"
    kind = "input"
    hint = "Fix the request and try again."


class Unauthorized(InputError):
    hint = "Send `Authorization: Bearer KEY`; `saycart keys add` makes a key."


class Forbidden(InputError):
    hint = "Use a key with that scope (`saycart keys add --scope ...`) or an account that has it."


class NotFound(InputError):
    hint = "Check the id. List calls show what exists."


class RecordingRemoved(NotFound):
    hint = "Recordings go when the order is cancelled or erased, if unplayable, or after the shop's limit."


class Conflict(InputError):
    hint = "Fetch it again and decide based on its current state."


class OtherTotal(Conflict):
    code = "conflict"
    hint = "Show the customer what it costs now, and confirm that."
    title = "The cart has another total"


class IdempotencyMismatch(Conflict):
    hint = "Use a new Idempotency-Key for a new order. Repeat a key only with exactly the same body."


class UnknownMenu(InputError):
    """Not `NotFound`: the URL is right, a field of the body is not."""

    hint = "`GET /v1/menus` lists the menus; `saycart menu import FILE` adds one."
    problems = (("/menu", "no such menu"),)


class _InvalidParts(InputError):
    """A document with `problems`: a list of (JSON pointer, sentence), all of which clients get."""

    about = ""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        shown = "; ".join(f"{path}: {text}" for path, text in problems[:3])
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        super().__init__(f"{self.about}{shown}{more}")
        self.problems = problems


class InvalidMenu(_InvalidParts):
    about = "The menu can't be used: "
    hint = "Fix every listed path and import the whole menu again. Nothing was stored."


class InvalidCart(_InvalidParts):
    hint = "Choose items, sizes and options from the order's menu version."


class UnknownTask(NotFound):
    pass


class AudioRefused(InputError):
    """Unplayable: its file is deleted when the order ends."""


class UnsupportedAudio(AudioRefused):
    hint = "Send WAV, FLAC, Ogg, MP3, M4A or WebM."


class AudioTooLarge(AudioRefused):
    hint = "Send a shorter recording or a compressed one (Opus at 24 kbit/s is plenty for speech)."


class AudioTooLong(AudioRefused):
    hint = "Send one order per recording, without long silences."


class AudioTooCostly(AudioRefused):
    hint = "Record it again, with one sample rate and the same channels throughout."


class AudioDamaged(AudioRefused):
    hint = "The upload was probably cut off. Send the whole file again."


class _Wait(SaycartError):
    """Too much is asked for now; the same fits again in `wait_s` seconds."""

    retryable = True
    hint = "Nothing was stored. Wait, then try again."

    def __init__(self, detail: str, wait_s: float) -> None:
        super().__init__(f"{detail}; try again in {max(1, math.ceil(wait_s))} s", wait_s=wait_s)


class TooManyOrders(_Wait, InputError):
    hint = "Nothing was ordered. Wait, then try again."


class TooManyAttempts(_Wait, InputError):
    hint = "Wait, then try again."


class TooManyRequests(_Wait, InputError):
    hint = "Nothing was done. Wait, then try again."


class Overloaded(_Wait):
    pass


class SignInBusy(_Wait):
    hint = "Wait a moment, then try again."


class MaskedBusy(_Wait):
    """Masked calls share the decode servers with orders, so each process limits how many it runs."""

    hint = "Wait a moment, then try again. Nothing was sent to the model."


class NotBegunHere(InputError):
    hint = "Start again on the sign-in page. Each sign-in works once, in the browser where it started."


class NotLetIn(InputError):
    hint = "Ask your saycart administrator; the audit log and the logs say why."


class ProviderAway(SaycartError):
    retryable = True
    hint = "Try again in a minute, or sign in with name and password if you have one."
    wait_s = 5.0
