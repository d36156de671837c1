"""Orders as values: what storage hands out and takes in. Frozen, detached from any session."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from schemas.cart import CartDraft
from schemas.decision import Decision, ModelAnswer
from schemas.lifecycle import Event, State
from schemas.order import DecodedBy, OrderError
from schemas.priced_cart import Cart, Finding
from schemas.review import ReviewReason
from schemas.transcript import Transcript


class StoredUtterance(BaseModel, frozen=True):
    """An utterance as an order keeps it: with its recording's key and container, where it has one."""

    kind: Literal["audio", "text"]
    at: datetime
    transcript: Transcript | None = None
    audio_key: str | None = None
    audio_format: str | None = None


@dataclass(frozen=True, slots=True)
class NewOrder:
    """An order to be stored: either `audio` (blob key and container) or `transcript` is set.

    `confirm`: the customer sees the cart before the order is completed. `client`: whose backlog it adds to.
    `traceparent`: of the span that accepts it (W3C Trace Context), where traces are on.
    """

    menu_id: str
    menu_version: int
    language: str
    audio_key: str | None = None
    audio_format: str | None = None
    transcript: Transcript | None = None
    metadata: dict[str, Any] | None = None
    confirm: bool = False
    client: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's own key for one order. `body_hash` tells a repeat from another order under the same key."""

    client: str
    key: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """One order row. `version` grows by one at every change; times are aware UTC datetimes. `answer` is the
    language model's. `source`: whose turn it takes, see `turns.py`. `transcript` is of all utterances, and
    `audio_key` of the newest recording. `utterances`: empty while there is one alone, which is in the other
    columns; `before`: the cart that was shown before the newest one. Known of an order that was claimed just
    now alone: `claimed_at`, and `waited_s`, seconds since it was due for the stage."""

    id: str
    shop: str
    state: State
    version: int
    menu_id: str
    menu_version: int
    language: str
    created_at: datetime
    updated_at: datetime
    audio_key: str | None = None
    audio_format: str | None = None
    transcript: Transcript | None = None
    utterances: tuple[StoredUtterance, ...] = ()
    draft: CartDraft | None = None
    cart: Cart | None = None
    before: Cart | None = None
    findings: tuple[Finding, ...] = ()
    reasons: tuple[ReviewReason, ...] = ()
    answer: ModelAnswer | None = None
    decision: Decision | None = None
    error: OrderError | None = None
    metadata: dict[str, Any] | None = None
    timings: dict[str, float] = field(default_factory=dict)
    engine: DecodedBy | None = None
    attempt: int = 0
    lease_owner: str | None = None
    lease_until: datetime | None = None
    next_attempt_at: datetime | None = None
    confirm: bool = False
    source: str | None = None
    taken_at: datetime | None = None
    erased_at: datetime | None = None
    traceparent: str | None = None
    claimed_at: datetime | None = field(default=None, compare=False)
    waited_s: float = field(default=0.0, compare=False)

    @property
    def spoken(self) -> bool:
        """Whether it came as a recording, which may be gone since: then it has no `audio_key`."""
        return self.audio_format is not None or self.audio_key is not None

    @property
    def all_utterances(self) -> tuple[StoredUtterance, ...]:
        """At least one: the first may be in the order's own columns alone."""
        first = StoredUtterance(
            kind="audio" if self.spoken else "text",
            at=self.created_at,
            transcript=self.transcript,
            audio_key=self.audio_key,
            audio_format=self.audio_format,
        )
        return self.utterances or (first,)

    @property
    def known_transcript(self) -> Transcript:
        """Its transcript, an empty one where there is none yet."""
        return self.transcript or Transcript(text="", confidence=0.0)

    @property
    def recordings(self) -> frozenset[str]:
        """Keys of all its recordings that are kept."""
        return frozenset(one.audio_key for one in self.all_utterances if one.audio_key is not None)


@dataclass(frozen=True, slots=True)
class StoredRecording:
    """A recording in the store: its key, and its container as a file suffix."""

    key: str
    form: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage found: the event that moves the order, and the columns that it fills.

    A field left None is not touched. `timings` are merged into what is stored. `utterances`: as
    transcribed, their recordings in place of the uploads, whose files go. `refused`: the recordings are
    unplayable, so that their files go.
    """

    event: Event
    transcript: Transcript | None = None
    utterances: tuple[StoredUtterance, ...] = ()
    draft: CartDraft | None = None
    cart: Cart | None = None
    findings: tuple[Finding, ...] | None = None
    reasons: tuple[ReviewReason, ...] | None = None
    answer: ModelAnswer | None = None
    decision: Decision | None = None
    error: OrderError | None = None
    timings: dict[str, float] = field(default_factory=dict)
    engine: DecodedBy | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    refused: bool = False


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One entry of an order's history. `seq` is the order's version after the event: it grows, with gaps,
    since a claim changes the version and is no event. `type` is `received`, `retry` or a lifecycle event.
    """

    seq: int
    at: datetime
    type: str
    state: State
    detail: dict[str, Any]
