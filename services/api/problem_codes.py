"""The HTTP status of each kind of error, and the title of each problem."""

from __future__ import annotations

from schemas import errors

_BY_STATUS: dict[int, tuple[type[errors.SaycartError], ...]] = {
    400: (errors.NotBegunHere,),
    401: (errors.Unauthorized,),
    403: (errors.Forbidden, errors.NotLetIn),
    404: (errors.NotFound,),
    409: (errors.Conflict, errors.StaleState),
    413: (errors.AudioTooLarge,),
    415: (errors.UnsupportedAudio,),
    # Refused answers are 422: a retry with the same text gets the same result.
    422: (errors.InputError, errors.IdempotencyMismatch, errors.AnswerRefused),
    429: (errors.TooManyAttempts, errors.TooManyOrders, errors.TooManyRequests),
    500: (errors.SaycartError,),
    502: (errors.EngineMisconfigured, errors.DecodeTruncated, errors.DecodeInvalid),
    503: (
        *(errors.EngineUnavailable, errors.RecordingLost, errors.StorageUnavailable, errors.ProviderAway),
        *(errors.Overloaded, errors.SignInBusy, errors.MaskedBusy),
    ),
    507: (errors.StorageFull,),
}
# The nearest base class decides, so a new class gets its parent's status.
STATUS = {error: status for status, kinds in _BY_STATUS.items() for error in kinds}

# Codes whose title is the code in words.
_PLAIN = """
    invalid_input malformed_body body_too_large unsupported_media_type audio_too_large unsupported_audio
    unknown_menu too_many_orders too_many_requests overloaded invalid_menu not_found method_not_allowed
    too_many_attempts engine_unavailable engine_misconfigured unknown_task storage_unavailable
""".split()
# Titles by code, also for the pages at `/problems/<code>`.
TITLES: dict[str, str] = {code: code.replace("_", " ").capitalize() for code in _PLAIN} | {
    "misdirected": "Unknown host name",
    "audio_empty": "The recording is empty",
    "idempotency_mismatch": "This idempotency key was used for another request",
    "invalid_cart": "The menu doesn't allow this cart",
    "unauthorized": "Authentication required",
    "forbidden": "You don't have permission to do this",
    "cross_site": "Cross-site requests are not allowed",
    "conflict": "This conflicts with the current state",
    "recording_lost": "The recording can't be found",
    "recordings_away": "The recording store is not responding",
    "recording_removed": "The recording was deleted",
    "stale_state": "It changed since you read it",
    "sign_in_busy": "Too many people are signing in",
    "not_begun_here": "This sign-in has expired or was started elsewhere",
    "not_let_in": "You couldn't be signed in",
    "provider_away": "The sign-in provider is not responding",
    "decode_truncated": "The decoder stopped before it finished",
    "decode_invalid": "The decoder's answer is outside the mask",
    "answer_refused": "The answer is well-formed but breaks the task's rules",
    "masked_busy": "Too many masked calls are running",
    "storage_full": "The disk is full",
    "internal": "Internal error",
}
