"""Every error that saycart raises on purpose.

    SaycartError
    ├── InputError                  the caller can fix it (HTTP 4xx, or the order's `error` state)
    │   ├── Unauthorized                no credential, or an unknown or expired one
    │   ├── Forbidden                   a valid credential without permission
    │   ├── NotFound                    no such order, menu or review
    │   │   └── RecordingRemoved            the order exists, but its recording was deleted
    │   ├── Conflict                    it changed since it was read, or the key was used before
    │   │   ├── OtherTotal                  the confirmed cart doesn't cost what the customer agreed to
    │   │   ├── IdempotencyMismatch         the key was used with another body
    │   │   └── IdempotencyInFlight         the first request with the key is still running: wait
    │   ├── TooManyAttempts             too many failed sign-ins: wait
    │   ├── TooManyOrders               too many of the client's orders are waiting: wait
    │   ├── TooManyRequests             over a per-minute limit: wait
    │   ├── UnknownMenu                 an order names a menu that was never imported
    │   ├── InvalidMenu                 a menu document that contradicts itself; lists every problem
    │   ├── InvalidCart                 a corrected cart that the menu doesn't allow
    │   ├── UnknownTask                 a masked call names a task that isn't registered
    │   ├── UnmaskableSchema            a schema that no mask can bound or express; lists every place
    │   └── AudioRefused                the recording itself: never worth a retry, and not kept
    │       ├── UnsupportedAudio            not an accepted container, judged by its first bytes
    │       ├── AudioTooLarge               over the byte limit
    │       ├── AudioTooLong                over the length limit
    │       ├── AudioTooCostly              decoding takes more than any recording of speech needs
    │       └── AudioDamaged                undecodable, or shorter than its header declares
    ├── Unreadable                  can't be read here, however often it is tried: a person reads it
    │   └── TooMuchToRead               the transcript is longer than an order may be
    ├── Overloaded                  too many orders are waiting: wait
    ├── SignInBusy                  too many people are signing in: wait
    ├── MaskedBusy                  this process runs as many masked calls as it may: wait
    ├── EngineError                 a model or its server
    │   ├── EngineUnavailable           refused, timed out, 5xx: worth a retry
    │   ├── EngineMisconfigured         the server ignores the mask or lacks the model: an operator must act
    │   ├── DecodeTruncated             finish_reason was not `stop`: never parsed
    │   ├── DecodeInvalid               the text is outside the mask: the mask was not applied
    │   ├── MenuBeingRead               the menu is new to the reader and is read between other orders
    │   ├── DecodeCancelled             the order was cancelled or another worker has it
    │   └── AnswerRefused               inside the mask, but the Pydantic model's validators refuse it
    └── StorageError
        ├── RecordingLost               not where it was stored: retried, then a person asks again
        ├── StaleState                  a compare-and-set found another state or version: drop the result
        └── StorageUnavailable          database or disk can't take it now: worth a retry
            ├── RecordingsAway              the recording store doesn't respond: retried
            └── StorageFull                 no space left: worth a retry once there is some

Each class has a `code` (stable, shown to clients), `retryable`, and `hint` (what to do about it).
"""

from __future__ import annotations

from schemas.errors.audio import (
    AudioDamaged,
    AudioRefused,
    AudioTooCostly,
    AudioTooLarge,
    AudioTooLong,
    UnsupportedAudio,
)
from schemas.errors.base import SaycartError
from schemas.errors.engines import (
    AnswerRefused,
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
    MenuBeingRead,
    TooMuchToRead,
    Unreadable,
)
from schemas.errors.limits import (
    MaskedBusy,
    Overloaded,
    SignInBusy,
    TooManyAttempts,
    TooManyOrders,
    TooManyRequests,
)
from schemas.errors.requests import (
    Conflict,
    Forbidden,
    IdempotencyInFlight,
    IdempotencyMismatch,
    InputError,
    InvalidCart,
    InvalidMenu,
    NotFound,
    OtherTotal,
    RecordingRemoved,
    Unauthorized,
    UnknownMenu,
    UnknownTask,
    UnmaskableSchema,
)
from schemas.errors.storage import (
    RecordingLost,
    RecordingsAway,
    StaleState,
    StorageError,
    StorageFull,
    StorageUnavailable,
)

__all__ = [
    "AnswerRefused",
    "AudioDamaged",
    "AudioRefused",
    "AudioTooCostly",
    "AudioTooLarge",
    "AudioTooLong",
    "Conflict",
    "DecodeCancelled",
    "DecodeInvalid",
    "DecodeTruncated",
    "EngineError",
    "EngineMisconfigured",
    "EngineUnavailable",
    "Forbidden",
    "IdempotencyInFlight",
    "IdempotencyMismatch",
    "InputError",
    "InvalidCart",
    "InvalidMenu",
    "MaskedBusy",
    "MenuBeingRead",
    "NotFound",
    "OtherTotal",
    "Overloaded",
    "RecordingLost",
    "RecordingRemoved",
    "RecordingsAway",
    "SaycartError",
    "SignInBusy",
    "StaleState",
    "StorageError",
    "StorageFull",
    "StorageUnavailable",
    "TooManyAttempts",
    "TooManyOrders",
    "TooManyRequests",
    "TooMuchToRead",
    "Unauthorized",
    "UnknownMenu",
    "UnknownTask",
    "UnmaskableSchema",
    "Unreadable",
    "UnsupportedAudio",
]
