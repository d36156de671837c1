"""Every error that saycart raises on purpose.

    SaycartError
    ├── InputError                  the caller can mend it (HTTP 4xx, or the order's `error` state)
    │   ├── Unauthorized                no credential, or one that is not (or no longer) good
    │   ├── Forbidden                   a good credential that may not do this
    │   ├── NotFound                    no such order, menu or review
    │   │   └── RecordingRemoved            the order is there, its recording is not any more
    │   ├── Conflict                    the thing changed since it was read, or a key was used before
    │   │   ├── IdempotencyMismatch         the key was used before, with another body
    │   │   └── IdempotencyInFlight         the first request under the key is not done yet: wait
    │   ├── TooManyAttempts             signing in failed too often: wait
    │   ├── TooManyOrders               the client's orders pile up: wait
    │   ├── TooManyRequests             more than a limit a minute allows: wait
    │   ├── UnknownMenu                 an order names a menu that was never imported
    │   ├── InvalidMenu                 a menu document that contradicts itself; carries every problem
    │   ├── InvalidCart                 a corrected cart that the menu does not allow
    │   ├── UnknownTask                 a masked call names a task that is not registered
    │   ├── UnmaskableSchema            a schema that no mask can bound or hold; carries every place
    │   └── AudioRefused                the recording itself: never worth a retry, and not kept
    │       ├── UnsupportedAudio            not one of the accepted containers, by its first bytes
    │       ├── AudioTooLarge               over the byte cap
    │       ├── AudioTooLong                over the length cap
    │       ├── AudioTooCostly              decoding it takes more than any recording of speech needs
    │       └── AudioDamaged                undecodable, or shorter than its own header declares
    ├── Unreadable                  the words can't be read here, at any try: a human reads them
    │   ├── TooMuchToRead               words and menu multiply past the work budget
    │   └── UnknownLanguage             the menu is in a language whose words of ordering are not there
    ├── Overloaded                  orders pile up for the workers: wait
    │   └── IntakeLate                  orders come faster than this API stores them: wait
    ├── SignInBusy                  too many sign in at this moment: wait
    ├── MaskedBusy                  this process has as many masked calls in hand as it may: wait
    ├── EngineError                 a model or its server
    │   ├── EngineUnavailable           refused, timed out, 5xx: worth another try
    │   ├── EngineMisconfigured         the server ignores the mask, or lacks the model: a human must act
    │   ├── DecodeTruncated             finish_reason was not `stop`: never parsed
    │   ├── DecodeInvalid               the text is outside the mask: the mask was not applied
    │   ├── MenuBeingRead               the menu is new to the reader and is read between other orders
    │   ├── DecodeCancelled             called off, since the order was cancelled or another worker has it
    │   └── AnswerRefused               inside the mask, and its own model's validators refuse it
    └── StorageError
        ├── RecordingLost               not where it was stored: worth another try, then a human asks again
        ├── StaleState                  a compare-and-set found another state or version: drop the work
        └── StorageUnavailable          database or disk cannot take it now: worth another try
            ├── RecordingsAway              the store of recordings does not answer: likewise
            └── StorageFull                 no space left: worth another try once somebody made room

Each class states `code` (stable, shown to clients), `retryable`, and `hint` (what to do about it).
"""

from __future__ import annotations

import math


def _again(wait_s: float) -> str:
    return f"try again in {max(1, math.ceil(wait_s))} s"


class SaycartError(Exception):
    """Root of the tree. `detail` is one sentence for a person; `hint` says how to mend it.

    `detail` is logged, so it never holds what a customer said, nor an answer made of it: that is `quoted`,
    which a reviewer alone reads. `wait_s`: seconds until another try makes sense, where that is known.
    """

    code = "internal"
    retryable = False
    hint = "This is a fault in saycart; the request id and the logs say more."
    wait_s: float | None = None

    def __init__(
        self, detail: str, *, hint: str | None = None, quoted: str = "", wait_s: float | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.quoted = quoted
        self.hint = self.hint if hint is None else hint
        self.wait_s = self.wait_s if wait_s is None else wait_s

    @property
    def whole(self) -> str:
        """`detail` with what it is about, for the one who reads it: never for logs."""
        return f"{self.detail}: {self.quoted}" if self.quoted else self.detail


class InputError(SaycartError):
    """The caller sent something that can't be worked on."""

    code = "invalid_input"
    hint = "Mend the request and send it again."


class Unauthorized(InputError):
    """Without a good credential nothing is told, not even whether a thing exists."""

    code = "unauthorized"
    hint = "Send `Authorization: Bearer KEY`; `saycart keys add` makes a key, `saycart keys list` shows them."


class Forbidden(InputError):
    code = "forbidden"
    hint = "Use a key with that scope: `saycart keys add --scope ...`; or sign in with an account that may."


class NotFound(InputError):
    code = "not_found"
    hint = "Check the id; list calls show what exists."


class RecordingRemoved(NotFound):
    code = "recording_removed"
    hint = "It goes when its order is cancelled or erased, when nobody can hear it, or after the shop's time."


class Conflict(InputError):
    code = "conflict"
    hint = "Read it again and decide on what it says now."


class IdempotencyMismatch(Conflict):
    code = "idempotency_mismatch"
    hint = "Send a new order under a new Idempotency-Key; repeat an old one with exactly the same body."


class IdempotencyInFlight(Conflict):
    code = "idempotency_in_flight"
    retryable = True
    hint = "Wait, then send the same request again: it brings back the first one's order."


class TooManyOrders(InputError):
    """A client has `waiting` orders before the workers; `wait_s` is how many seconds it should wait."""

    code = "too_many_orders"
    retryable = True
    hint = "Nothing was stored; wait, then send it again."

    def __init__(self, waiting: int, wait_s: float) -> None:
        super().__init__(f"{waiting} orders from here are waiting already; {_again(wait_s)}", wait_s=wait_s)


class TooManyAttempts(InputError):
    """Signing in failed too often; `wait_s` is how many seconds until the next attempt is looked at."""

    code = "too_many_attempts"
    retryable = True
    hint = "Wait, then try again; a browser that this name has signed in from before need not wait."

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Too many attempts; {_again(wait_s)}", wait_s=wait_s)


class TooManyWaiting(InputError):
    """No more may wait for orders at once, by long polls or event streams; `wait_s`: until another try."""

    code = "too_many_waiting"
    retryable = True
    hint = "Close what you no longer need, or ask without `wait` meanwhile."

    def __init__(self, full: str, wait_s: float) -> None:
        super().__init__(f"{full}; {_again(wait_s)}", wait_s=wait_s)


class TooManyRequests(InputError):
    """Over a limit a minute. `limit` is its name, `headers` what HTTP has to say of it, `wait_s` the seconds
    until what was asked for fits."""

    code = "too_many_requests"
    retryable = True
    hint = "Nothing was done; wait, then send it again."

    def __init__(self, limit: str, detail: str, wait_s: float, headers: dict[str, str]) -> None:
        super().__init__(f"{detail}; {_again(wait_s)}", wait_s=wait_s)
        self.limit = limit
        self.headers = headers


class UnknownMenu(InputError):
    """Not `NotFound`: the address is right, a field of the body is not. `problems` as in `InvalidMenu`."""

    code = "unknown_menu"
    hint = "`GET /v1/menus` lists the menus; `saycart menu import FILE` brings one in."
    problems = (("/menu", "names no menu"),)


class InvalidMenu(InputError):
    """A menu that contradicts itself. `problems` is a list of (JSON pointer, sentence)."""

    code = "invalid_menu"
    hint = "Mend every listed path and import the whole menu again; nothing was stored."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        shown = "; ".join(f"{path}: {text}" for path, text in problems[:3])
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        super().__init__(f"The menu has {len(problems)} problem(s): {shown}{more}")
        self.problems = problems


class InvalidCart(InputError):
    """A reviewer's cart that the menu does not allow. `problems` as in `InvalidMenu`."""

    code = "invalid_cart"
    hint = "Choose items, sizes and options that the order's menu version offers."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems))
        self.problems = problems


class UnknownTask(NotFound):
    """A masked call of a name that is not registered."""

    code = "unknown_task"

    def __init__(self, name: str, known: list[str]) -> None:
        listed = ", ".join(known) or "none"
        super().__init__(f"There is no task {name[:80]!r}", hint=f"These are registered: {listed}.")


class UnmaskableSchema(InputError):
    """Found when a schema is registered, never at a call. `problems` as in `InvalidMenu`."""

    code = "unmaskable_schema"
    hint = "Mend every listed place; the mask's limits are in docs/masked.md."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems))
        self.problems = problems


class AudioRefused(InputError):
    """Nobody can hear it, so nobody needs it: its file is removed when its order ends."""

    code = "audio_refused"


class UnsupportedAudio(AudioRefused):
    code = "unsupported_audio"
    hint = "Send WAV, FLAC, Ogg/Opus, MP3, M4A or WebM; the file's first bytes decide, not its name."


class AudioTooLarge(AudioRefused):
    code = "audio_too_large"
    hint = "Send a shorter recording or a compressed one (Opus at 24 kbit/s is plenty for speech)."


class AudioTooLong(AudioRefused):
    code = "audio_too_long"
    hint = "Send one order a recording, without long silence around it."


class AudioTooCostly(AudioRefused):
    code = "audio_too_costly"
    hint = "Record it anew, at one sample rate and with the same channels throughout, and send that."


class AudioDamaged(AudioRefused):
    code = "audio_damaged"
    hint = "The upload was probably cut off; send the whole file again."


class Overloaded(SaycartError):
    code = "overloaded"
    retryable = True
    hint = "Nothing was stored; wait, then send it again."
    what = "are waiting already"

    def __init__(self, orders: int, wait_s: float) -> None:
        super().__init__(f"{orders} orders {self.what}; {_again(wait_s)}", wait_s=wait_s)


class IntakeLate(Overloaded):
    code = "intake_late"
    what = "are late in being stored"


class SignInBusy(SaycartError):
    code = "sign_in_busy"
    retryable = True
    hint = "Wait a moment, then try again."

    def __init__(self) -> None:
        super().__init__("Too many are signing in at this moment; try again in a few seconds", wait_s=2.0)


class MaskedBusy(SaycartError):
    code = "masked_busy"
    retryable = True
    hint = "Wait a moment, then send it again; nothing was asked."
    wait_s = 2.0

    def __init__(self, in_hand: int) -> None:
        super().__init__(f"{in_hand} masked calls are in hand already; try again in a few seconds")


class Unreadable(SaycartError):
    """The words of an order, or the names of a menu, can't be read here, at any try."""


class TooMuchToRead(Unreadable):
    """A transcript over a menu, or a menu's names, past their budget of counted steps."""

    code = "too_much_to_read"
    hint = "Names that repeat or hold each other make it so; a human can settle the order."


class UnknownLanguage(Unreadable):
    code = "unknown_language"

    def __init__(self, code: str, known: list[str]) -> None:
        self.hint = f"Give the menu one of these languages: {', '.join(known)}; or add a folder of words."
        super().__init__(f"Orders in the language {code!r} can't be read")


class EngineError(SaycartError):
    code = "engine_error"


class EngineUnavailable(EngineError):
    code = "engine_unavailable"
    retryable = True
    hint = "Is the server up? `saycart doctor` shows which engines answer."


class EngineMisconfigured(EngineError):
    code = "engine_misconfigured"
    hint = "Start the server with guided decoding by llguidance and the model that the settings name."


class DecodeTruncated(EngineError):
    code = "decode_truncated"
    hint = "The server's context or token limit is smaller than the mask's bound; raise it."


class DecodeInvalid(EngineError):
    code = "decode_invalid"
    hint = "The server did not apply the mask; run `saycart doctor`."


class DecodeCancelled(EngineError):
    code = "decode_cancelled"
    hint = "The order was cancelled or is another worker's now; this work is dropped."


class MenuBeingRead(EngineError):
    """Its order's turn comes again, and no try is used up."""

    code = "menu_being_read"
    retryable = True
    hint = "Wait: a menu is read once, in pieces between other orders."


class AnswerRefused(EngineError):
    """Against the model's own rules. `problems` as in `InvalidMenu`; their sentences, which may repeat the
    answer's words, go to the caller, and their places alone into `detail`, which is logged."""

    code = "answer_refused"
    hint = "Ask again in other words, or with a larger model; the mask can't hold what a validator checks."

    def __init__(self, problems: list[tuple[str, str]], *, quoted: str = "") -> None:
        places = ", ".join(dict.fromkeys(path for path, _ in problems))
        super().__init__(f"The model's own rules refuse the answer at {places}", quoted=quoted)
        self.problems = problems


class StorageError(SaycartError):
    code = "storage_error"


class RecordingLost(StorageError):
    """It is looked for again, since a shared disk may be late; then a human asks the customer."""

    code = "recording_lost"
    retryable = True
    hint = "Have all machines one store (SAYCART_RECORDINGS_URL)? If it is gone, ask for the order again."


class StaleState(StorageError):
    code = "stale_state"
    hint = "Another worker moved the order on; this result is dropped."


class StorageUnavailable(StorageError):
    code = "storage_unavailable"
    retryable = True
    hint = "Nothing was stored; try again shortly."


class RecordingsAway(StorageUnavailable):
    """Unlike `RecordingLost` nobody knows whether the recording is there; it is tried again likewise."""

    code = "recordings_away"
    hint = "Try again shortly. Does the store that SAYCART_RECORDINGS_URL names answer this machine?"


class StorageFull(StorageUnavailable):
    code = "storage_full"
    hint = "Nothing was stored; the disk is full. Make room, then send it again."
