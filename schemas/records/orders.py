"""Orders as storage returns and accepts them: frozen values, detached from any session."""

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
from schemas.shops.access import is_page
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
    """An order to store, with either `audio_key` and `audio_format` or `transcript`.

    `confirm`: the customer must confirm the cart. `client`: the sender, whose waiting orders are limited.
    `traceparent`: W3C Trace Context of the accepting span, if tracing is on.
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
    """A client's key for one order; `body_hash` detects another order under the same key."""

    client: str
    key: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """One order row. `version` grows by one with every change; times are aware UTC datetimes. `answer` is the
    language model's. `source` takes turns with others (`turns.py`). `transcript` covers all utterances;
    `audio_key` is the newest recording's. `utterances` is empty while there is only one, which is in the
    other columns; `before` is the previously shown cart. `claimed_at` is set until a stage ends, `waited_s`
    (seconds since it was due) only when claimed."""

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
    claimed_at: datetime | None = None
    next_attempt_at: datetime | None = None
    confirm: bool = False
    source: str | None = None
    taken_at: datetime | None = None
    erased_at: datetime | None = None
    traceparent: str | None = None
    waited_s: float = field(default=0.0, compare=False)

    @property
    def needs_yes(self) -> bool:
        """True if its customer must confirm a cart that was in doubt or corrected: on a page always."""
        return self.confirm or is_page(self.source)

    @property
    def spoken(self) -> bool:
        """True if it came as a recording; without an `audio_key` that has been deleted."""
        return self.audio_format is not None or self.audio_key is not None

    @property
    def all_utterances(self) -> tuple[StoredUtterance, ...]:
        """All utterances; a single one may be in the order's own columns."""
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
        """The transcript, or an empty one."""
        return self.transcript or Transcript(text="", confidence=0.0)

    @property
    def recordings(self) -> frozenset[str]:
        """The keys of all stored recordings."""
        return frozenset(one.audio_key for one in self.all_utterances if one.audio_key is not None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a stage: the event that moves the order, and the columns to update.

    None leaves a column alone; `timings` are merged. The recordings of transcribed `utterances` replace the
    uploads, whose files are deleted. `refused`: the recordings are unplayable and are deleted.
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
    """One entry of an order's history. `seq` is the order's version after the event; it has gaps, since a
    claim changes the version without an event. `type` is `received`, `retry` or a lifecycle event."""

    seq: int
    at: datetime
    type: str
    state: State
    detail: dict[str, Any]
