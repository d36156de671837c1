"""Plain values about staff who sign in: where from, how far they got, and their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.shops.access import Access, Role

# Time for a person who is at a provider to type a password and a code there, or to be asked to change one.
PROVIDER_FLOW_S = 600


@dataclass(frozen=True, slots=True)
class Visit:
    """Where an attempt comes from. `address` is the peer's IP address, `browser` a few words such as
    `Firefox on Linux`."""

    address: str
    browser: str = ""


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
    """One session. `second_step` says whether its account has one; `id` is for lists and no secret.
    `by_provider`: it was begun by the provider's word, and not by a password."""

    id: str
    staff_id: str
    name: str
    second_step: bool
    started_at: datetime
    used_at: datetime
    address: str
    browser: str
    access: Access
    by_provider: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as a provider knows them. Issuer and subject are the person; the rest is what it says of them.

    `email` is empty unless the provider says that it is verified. `names` are what they may be called here,
    best first.
    """

    issuer: str
    subject: str
    email: str = ""
    names: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()

    @classmethod
    def told(cls, claims: Mapping[str, Any], groups_in: str) -> Identity:
        """From the claims of a checked ID token; `groups_in` names the claim of the groups."""
        # True and nothing like it: some providers let people write any address, and say "false".
        email = claims.get("email") if claims.get("email_verified") is True else ""
        email = email.strip() if isinstance(email, str) else ""
        named = (claims.get("preferred_username"), email, claims.get("name"))
        return cls(
            claims["iss"],
            claims["sub"],
            email.casefold(),
            tuple(name.strip() for name in named if isinstance(name, str) and name.strip()),
            _texts(_reached(claims, groups_in)),
        )


def roles_named(text: str) -> dict[str, tuple[str, Role]]:
    """Shop and role by group, of `GROUP=SHOP:ROLE, ...`.

    Raises:
        ValueError: an entry is none, or a group stands twice.
    """
    found: dict[str, tuple[str, Role]] = {}
    for entry in filter(None, (one.strip() for one in text.split(","))):
        # From the right: the names of groups in directories have equals signs.
        group, _, given = entry.rpartition("=")
        shop, _, role = given.strip().partition(":")
        group = group.strip()
        if not group or not shop.strip() or Role.stored(role.strip()) is None:
            raise ValueError(f"{entry[:80]!r} is no GROUP=SHOP:ROLE; roles are {', '.join(Role)}")
        if group in found:
            raise ValueError(f"{group[:80]!r} stands twice")
        found[group] = (shop.strip(), Role(role.strip()))
    return found


def _reached(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by a path with dots where no claim has that name."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(claim: Any) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset({claim})
    return frozenset(one for one in claim if isinstance(one, str)) if isinstance(claim, list) else frozenset()
