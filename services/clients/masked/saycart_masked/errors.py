"""Errors of a masked call.

MaskedCallError
├── UnmaskableModel     no mask can bound or express the model; `problems` lists every place
├── ServerUnavailable   refused, timed out, or 5xx: try again
├── RequestRefused      any other 4xx, such as an unknown model or too long a prompt
├── AnswerTruncated     the answer hit a limit of the server; it isn't parsed
├── OutsideMask         the server didn't apply the mask
├── CallCancelled       the caller set `called_off`
└── AnswerRejected      inside the mask, but the model's own validators reject it
"""

from __future__ import annotations

Problems = list[tuple[str, str]]
"""(JSON pointer, sentence) of each place."""


class MaskedCallError(Exception):
    """`str(error)` contains no text of prompts or answers; `quoted` is what the server sent. `code` is
    stable."""

    code = "masked_call_error"
    retryable = False

    def __init__(self, detail: str, *, quoted: str = "") -> None:
        super().__init__(detail)
        self.detail, self.quoted = detail, quoted


class UnmaskableModel(MaskedCallError):
    """Raised when a mask is built, never by a call."""

    code = "unmaskable_model"

    def __init__(self, problems: Problems) -> None:
        super().__init__("; ".join(f"{place}: {sentence}" for place, sentence in problems))
        self.problems = problems


class ServerUnavailable(MaskedCallError):
    code = "engine_unavailable"
    retryable = True


class RequestRefused(MaskedCallError):
    code = "engine_misconfigured"


class AnswerTruncated(MaskedCallError):
    code = "decode_truncated"


class OutsideMask(MaskedCallError):
    code = "decode_invalid"


class CallCancelled(MaskedCallError):
    code = "decode_cancelled"


class AnswerRejected(MaskedCallError):
    """`problems` has the validators' messages, without text of the answer."""

    code = "answer_refused"

    def __init__(self, problems: Problems, *, quoted: str = "") -> None:
        places = ", ".join(dict.fromkeys(place for place, _ in problems))
        super().__init__(f"The answer breaks the model's own rules at {places}", quoted=quoted)
        self.problems = problems
