"""What a credential may hand on in a new key: no more than its shop's admin may, and no other person's name.

Operators at the machine may give what they like. Over HTTP a key with the scope `admin` would else make one
that decides reviews as ann and one that does as ben, give itself `metrics` of all shops, or outlive its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from schemas.errors import Forbidden
from schemas.shops.access import ROLE_SCOPES, Role


@dataclass(frozen=True, slots=True)
class Grant:
    """`person`: the account that the credential acts for. `until`: when it ends; None for never."""

    person: str | None
    until: datetime | None

    def check(self, scopes: Iterable[object], person: str | None) -> None:
        """Raises Forbidden, unless a key with these scopes, which acts for this person, may be handed on."""
        allowed: Collection[str] = ROLE_SCOPES[Role.ADMIN]
        if wider := sorted({str(scope) for scope in scopes} - set(allowed)):
            raise Forbidden(
                f"A shop's admin can't grant the scope {', '.join(wider)}.",
                hint="The operator can create this key: `saycart keys add`.",
            )
        if person is not None and person != self.person:
            raise Forbidden(
                "A key can only be made for the person the caller's key acts for.",
                hint="The operator can create it: `saycart keys add --person NAME`.",
            )

    def end(self, wanted: datetime | None) -> datetime | None:
        """When a key ends that was to end at `wanted`: not after the one that makes it."""
        return min((at for at in (wanted, self.until) if at is not None), default=None)
