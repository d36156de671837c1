"""Sign-ins, sessions and identities of staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.shops.access import Access


@dataclass(frozen=True, slots=True)
class Halfway:
    """The password was right and a code is required; `token` continues the sign-in."""

    token: str


@dataclass(frozen=True, slots=True)
class StaffSession:
    """One session. `second_step`: the account has one; `needs_second_step`: the shop requires one. `id` is
    not secret. `by_provider`: signed in by the identity provider, not by password. `expires_at` is final,
    however much the session is used."""

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
    """A person at an identity provider. `email` is empty unless verified; `id_token` is kept for signing out
    there."""

    issuer: str
    subject: str
    email: str = ""
    id_token: str = field(default="", repr=False)

    @classmethod
    def of(cls, claims: Mapping[str, Any], id_token: str) -> Identity:
        """Build it from the claims of a verified ID token."""
        # Exactly True: some providers let people enter any address, and send "false".
        email = claims.get("email") if claims.get("email_verified") is True else ""
        email = email.strip().casefold() if isinstance(email, str) else ""
        return cls(claims["iss"], claims["sub"], email, id_token)
