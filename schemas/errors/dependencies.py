"""Failures of models and their servers, of the database, and of the recording store."""

from __future__ import annotations

from schemas.errors.requests import SaycartError


class TooMuchToRead(SaycartError):
    kind = "budget"
    hint = "Ask for a shorter order; a person can take this one."


class EngineError(SaycartError):
    kind = "outage"


class EngineUnavailable(EngineError):
    retryable = True
    hint = "Check that the server is up: `saycart doctor` shows which engines respond."


class EngineMisconfigured(EngineError):
    hint = "Start the server with llguidance guided decoding and the model named in the settings."


class DecodeTruncated(EngineError):
    kind = "syntax"
    hint = "The server's context or token limit is below the mask's bound; raise it."


class DecodeInvalid(EngineError):
    kind = "syntax"
    hint = "The server didn't apply the mask; run `saycart doctor`."


class MenuBeingRead(EngineError):
    """The order's turn comes again, and no attempt is used up."""

    retryable = True
    hint = "Wait: a new menu is read once, in pieces between other orders."


class DecodeCancelled(EngineError):
    hint = "The order was cancelled or moved to another worker; this result is dropped."


class AnswerRefused(EngineError):
    """`problems` is a list of (JSON pointer, sentence). A validator's sentence may repeat the answer, so it
    goes to the caller alone; `detail`, which is logged, has only the places."""

    hint = "Rephrase the request or use a larger model; the mask can't enforce what a validator checks."

    def __init__(self, problems: list[tuple[str, str]], *, quoted: str = "") -> None:
        places = ", ".join(dict.fromkeys(path for path, _ in problems))
        super().__init__(f"The answer breaks the model's own rules at {places}", quoted=quoted)
        self.problems = problems


class StorageError(SaycartError):
    kind = "storage"


class RecordingLost(StorageError):
    """The order was accepted, so the recording is looked for again (a shared disk may lag); then a person
    asks the customer. It never ends an order by itself."""

    retryable = True
    hint = "Do all machines share one SAYCART_RECORDINGS_URL? If it's gone, ask for the order again."


class StaleState(StorageError):
    hint = "Another worker has moved the order on; this result is dropped."


class StorageUnavailable(StorageError):
    retryable = True
    hint = "Nothing was stored. Try again shortly."


class RecordingsAway(StorageUnavailable):
    """Unlike with `RecordingLost`, the recording may well exist; it is tried again too."""

    hint = "Try again shortly. Can this machine reach the store in SAYCART_RECORDINGS_URL?"


class StorageFull(StorageUnavailable):
    hint = "Nothing was stored: the disk is full. Free some space, then try again."
