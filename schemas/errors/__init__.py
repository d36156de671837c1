"""Every error that saycart raises on purpose.

    SaycartError
    ├── InputError                  the caller can fix it (HTTP 4xx, or the order's `error` state)
    │   ├── Unauthorized                no credential, or an unknown or expired one
    │   ├── Forbidden                   a valid credential without permission
    │   ├── NotFound                    no such order, menu or review
    │   │   └── RecordingRemoved            the order exists, but its recording was deleted
    │   ├── Conflict                    it changed since it was read, or the key was used before
    │   │   ├── OtherTotal                  the confirmed cart doesn't cost what the customer agreed to
    │   │   └── IdempotencyMismatch         the key was used with another body
    │   ├── TooManyAttempts             too many failed sign-ins: wait
    │   ├── TooManyOrders               too many of the client's orders are waiting: wait
    │   ├── TooManyRequests             over a per-minute limit: wait
    │   ├── UnknownMenu                 an order names a menu that was never imported
    │   ├── InvalidMenu                 a menu document that contradicts itself; lists every problem
    │   ├── InvalidCart                 a corrected cart that the menu doesn't allow
    │   ├── UnknownTask                 a masked call names a task that isn't registered
    │   ├── NotBegunHere                the provider's answer doesn't belong to a sign-in from this browser
    │   ├── NotLetIn                    the provider refused the person, or sent claims we can't accept
    │   └── AudioRefused                the recording itself: never worth a retry, and not kept
    │       ├── UnsupportedAudio            not an accepted container, judged by its first bytes
    │       ├── AudioTooLarge               over the byte limit
    │       ├── AudioTooLong                over the length limit
    │       ├── AudioTooCostly              decoding takes more than any recording of speech needs
    │       └── AudioDamaged                undecodable, or shorter than its header declares
    ├── TooMuchToRead               the transcript is longer than an order may be: a person reads it
    ├── Overloaded                  too many orders are waiting: wait
    ├── SignInBusy                  too many people are signing in: wait
    ├── ProviderAway                the identity provider doesn't respond: worth a retry
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

from schemas.errors.dependencies import *
from schemas.errors.requests import *
