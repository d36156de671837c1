"""Models, their servers, and orders that can't be read."""

from __future__ import annotations

from schemas.errors.base import SaycartError


class Unreadable(SaycartError):
    """An order can't be read here, however often it is tried."""


class TooMuchToRead(Unreadable):
    """The transcript takes more tokens of the model than an order may."""

    code = "too_much_to_read"
    hint = "Ask for a shorter order; a person can take this one."


class EngineError(SaycartError):
    code = "engine_error"


class EngineUnavailable(EngineError):
    code = "engine_unavailable"
    retryable = True
    hint = "Check that the server is up: `saycart doctor` shows which engines respond."


class EngineMisconfigured(EngineError):
    code = "engine_misconfigured"
    hint = "Start the server with llguidance guided decoding and the model named in the settings."


class DecodeTruncated(EngineError):
    code = "decode_truncated"
    hint = "The server's context or token limit is below the mask's bound; raise it."


class DecodeInvalid(EngineError):
    code = "decode_invalid"
    hint = "The server didn't apply the mask; run `saycart doctor`."


class MenuBeingRead(EngineError):
    """The order's turn comes again, and no attempt is used up."""

    code = "menu_being_read"
    retryable = True
    hint = "Wait: a new menu is read once, in pieces between other orders."


class DecodeCancelled(EngineError):
    code = "decode_cancelled"
    hint = "The order was cancelled or moved to another worker; this result is dropped."


class AnswerRefused(EngineError):
    """A well-formed answer that breaks the Pydantic model's validators. `problems` as in `InvalidMenu`: their
    sentences come from the validators and go to the caller. `detail` is logged and has only their places,
    since a validator's sentence may repeat the answer."""

    code = "answer_refused"
    hint = "Rephrase the request or use a larger model; the mask can't enforce what a validator checks."

    def __init__(self, problems: list[tuple[str, str]], *, quoted: str = "") -> None:
        places = ", ".join(dict.fromkeys(path for path, _ in problems))
        super().__init__(f"The answer breaks the model's own rules at {places}", quoted=quoted)
        self.problems = problems
