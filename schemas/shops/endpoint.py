"""A shop's own webhook endpoints, and how the API takes and shows them; what is sent there: `webhook.py`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.moment import Moment
from schemas.shops.webhook import TYPES

MAX_ENDPOINTS = 10
"""Of one shop: each is one more message for each order that settles."""

MAX_OVERLAP_S = 30 * 86_400
Allowed = Literal["off", "public", "private"]
"""The setting `webhook_endpoints`."""

_EVENTS = sorted(TYPES.values())

Url = Annotated[str, Field(min_length=1, max_length=500, description="https; see docs/webhooks.md")]
Events = Annotated[
    list[Annotated[str, Field(json_schema_extra={"enum": list[Any](_EVENTS)})]] | None,
    Field(min_length=1, max_length=len(_EVENTS), description="types that are told; null is all of them"),
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint without its secrets; `events` is None for all, `disabled_at` while it is told."""

    id: str
    shop: str
    url: str
    events: tuple[str, ...] | None
    created_at: datetime
    disabled_at: datetime | None
    old_secret_until: datetime | None
    test_asked_at: datetime | None
    test_sent_at: datetime | None
    test_error: str | None
    waiting: int = 0
    dead: int = 0


class NewWebhook(BaseModel):
    """Where a shop wants to be told, and of what."""

    model_config = ConfigDict(extra="forbid")

    url: Url
    events: Events = None
    enabled: bool = Field(default=True, strict=True)


class WebhookChange(BaseModel):
    """What is named is changed, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    # No default is ever read (`model_fields_set`): of these, null means something for `events` alone.
    url: Url = "https://"
    events: Events = None
    enabled: bool = Field(default=True, strict=True)


class Rotation(BaseModel):
    """A new secret in place of an old one, which stays good for a while."""

    model_config = ConfigDict(extra="forbid")

    overlap_s: float = Field(default=86_400, strict=True, ge=0, le=MAX_OVERLAP_S, description="seconds")


class WebhookTest(BaseModel):
    """The last test message; times RFC 3339 UTC. One try: `error` is null once it was taken."""

    asked_at: Moment
    sent_at: Moment | None
    error: str | None


class Webhook(BaseModel):
    """One endpoint without its secret; times RFC 3339 UTC."""

    id: str
    url: str
    events: list[str] | None = Field(description="null: all of them")
    enabled: bool
    created_at: Moment
    old_secret_until: Moment | None = Field(description="until then each message is signed under both")
    waiting: int = Field(description="messages that are to be sent, or sent again")
    dead: int = Field(description="messages that were given up")
    test: WebhookTest | None = None


class WebhookMade(Webhook):
    """One endpoint with its new secret, which is shown this once."""

    secret: str = Field(description="`whsec_...`")


class WebhookList(BaseModel):
    webhooks: list[Webhook]


class WebhookRemoved(BaseModel):
    """`withdrawn`: messages that waited for it, or were given up, and are sent no more."""

    id: str
    withdrawn: int
