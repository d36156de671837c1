"""Plain values about staff who sign in: how far they got, and their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.shops.access import Access


@dataclass(frozen=True, slots=True)
class Entered:
    """A sign-in that is done, with the new session's token."""

    token: str


@dataclass(frozen=True, slots=True)
class Halfway:
    """The password was right and a code is wanted; `token` stands for that until then."""

    token: str


@dataclass(frozen=True, slots=True)
class StaffSession:
    """One session. `second_step` says whether its account has one, `needs_second_step` whether its shop
    wants one of all; `id` is no secret. `by_provider`: it was begun by the provider's word, and
    not by a password. `expires_at` is its last moment however it is used."""

    id: str
    staff_id: str
    name: str
    second_step: bool
    needs_second_step: bool
    access: Access
    expires_at: datetime
    by_provider: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as a provider knows them. `email` is empty unless the provider has verified it; `id_token` is
    what it said, for signing out there."""

    issuer: str
    subject: str
    email: str = ""
    id_token: str = field(default="", repr=False)

    @classmethod
    def of(cls, claims: Mapping[str, Any], id_token: str) -> Identity:
        """From the claims of a checked ID token."""
        # True and nothing like it: some providers let people write any address, and say "false".
        email = claims.get("email") if claims.get("email_verified") is True else ""
        email = email.strip().casefold() if isinstance(email, str) else ""
        return cls(claims["iss"], claims["sub"], email, id_token)
