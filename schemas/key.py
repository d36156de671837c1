"""Keys as the API takes and shows them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from schemas.moment import Moment
from schemas.shops.access import Scope

MAX_LIFE_S = 10 * 365 * 86_400


class NewKey(BaseModel):
    """A key of the caller's own shop, with at most what an admin of it may."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=80, description="what it is for, such as `till 3`")
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    person: str | None = Field(
        default=None,
        max_length=80,
        description="the account that it acts for, needed with `reviews`: the caller's own",
    )
    lasts_s: float | None = Field(
        default=None,
        strict=True,
        gt=0,
        le=MAX_LIFE_S,
        description="seconds; left out: for good. Never longer than the caller's own key",
    )


class Key(BaseModel):
    """One key without its secret; times RFC 3339 UTC."""

    id: str
    prefix: str = Field(description="what the key begins with; of an order page's public key all of it")
    name: str
    scopes: list[str]
    page: bool = Field(description="the public key of an order page, which opens no call")
    person: str | None = Field(description="the account that it acts for")
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None = Field(description="to the minute")


class KeyMade(Key):
    """A new key, which is shown this once: `Authorization: Bearer KEY`."""

    key: str


class KeyPage(BaseModel):
    """Oldest first, those that are over included; `next_cursor` is null on the last page."""

    keys: list[Key]
    next_cursor: str | None = None
