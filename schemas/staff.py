"""Plain values about staff who sign in: where from, how far they got, and their sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.access import Access


@dataclass(frozen=True, slots=True)
class Visit:
    """Where an attempt comes from. `address` is the peer's IP address, `browser` a few words such as
    `Firefox on Linux`, `device` the token that this browser was given when the name last signed in."""

    address: str
    browser: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """A sign-in that is done: the new session's token, and the token by which this device is known."""

    token: str
    device: str


@dataclass(frozen=True, slots=True)
class Halfway:
    """The password was right and a code is wanted; `token` stands for that until then."""

    token: str


@dataclass(frozen=True, slots=True)
class StaffSession:
    """One session. `second_step` says whether its account has one; `id` is for lists and no secret."""

    id: str
    staff_id: str
    name: str
    second_step: bool
    started_at: datetime
    used_at: datetime
    ends_at: datetime
    address: str
    browser: str
    access: Access
