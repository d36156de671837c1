"""Permissions: scopes of a shop's keys, roles of its staff, and the access that a credential gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schemas.errors import InputError

MAIN_SHOP = "main"
"""The first shop of every deployment."""

EVERY_SHOP = "*"
"""Stands for all shops, for workers, the sweeper and operators at the machine; no credential gives it."""


class Scope(StrEnum):
    """A permission of a key; each API call and page names the one it requires."""

    ORDERS_READ = "orders:read"
    ORDERS_WRITE = "orders:write"
    REVIEWS = "reviews"
    MENUS_READ = "menus:read"
    MENUS_WRITE = "menus:write"
    MASKED = "masked"
    METRICS = "metrics"
    ADMIN = "admin"

    @classmethod
    def stored(cls, values: Iterable[object]) -> frozenset[Scope]:
        """Parse stored scopes, without those of a later release: nothing here requires them."""
        return frozenset(scope for scope in cls if scope in set(map(str, values)))

    @classmethod
    def parse(cls, texts: Iterable[str]) -> frozenset[Scope]:
        """Parse comma-separated scopes; raises InputError for an unknown one."""
        words = {word.strip() for text in texts for word in text.split(",")} - {""}
        if unknown := sorted(words.difference(cls)):
            raise InputError(f"{unknown[0][:60]!r} is not a scope", hint=f"Scopes are {', '.join(cls)}.")
        return frozenset(map(cls, words))


class Role(StrEnum):
    """A person's role; each includes the permissions of those before it."""

    REVIEWER = "reviewer"
    MANAGER = "manager"
    ADMIN = "admin"

    @classmethod
    def stored(cls, value: str) -> Role | None:
        """Parse a stored role; None for one of a later release, which has no permissions here."""
        return cls(value) if value in set(cls) else None


_REVIEWER = frozenset({Scope.ORDERS_READ, Scope.REVIEWS, Scope.MENUS_READ})
_MANAGER = _REVIEWER | {Scope.ORDERS_WRITE, Scope.MENUS_WRITE, Scope.MASKED}
ALL_SCOPES = frozenset(Scope)
ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    Role.REVIEWER: _REVIEWER,
    Role.MANAGER: _MANAGER,
    Role.ADMIN: ALL_SCOPES - {Scope.METRICS},
}
"""Without `metrics`, which cover all shops: only an operator can give that to a key."""

VISITOR_SCOPES = frozenset({Scope.ORDERS_WRITE, Scope.MENUS_READ})
"""Permissions of a customer on a shop's order page."""


@dataclass(frozen=True, slots=True)
class Access:
    """The access that a credential gives for one request.

    `actor` names the credential in logs, records and limits: `key:ID`, `staff:NAME`, `page` at `/` and
    `page:KEY` elsewhere, `customer`, `open`. `person` is the account behind it, required to claim and decide
    reviews; a key may act for one. `order` is the only order that a customer's capability opens, else None.
    """

    shop: str
    actor: str
    scopes: frozenset[Scope]
    person: str | None = None
    order: str | None = None

    def __post_init__(self) -> None:
        if not self.shop or self.shop == EVERY_SHOP:
            raise ValueError("a credential belongs to one shop")


def of_person(shop: str, name: str, role: Role | None) -> Access:
    """Return an account's access: no permissions if its role is unknown here."""
    scopes = ROLE_SCOPES[role] if role else frozenset[Scope]()
    return Access(shop=shop, actor=f"staff:{name}", scopes=scopes, person=name)


PAGE = "page:"
"""Prefix of an order's client if it came from a page: `page:KEY/ADDRESS/BROWSER`."""


def is_page(source: str | None) -> bool:
    """Return True if the source of an order, or a caller, is a page."""
    return source is not None and source.startswith(PAGE)


def source_of(client: str | None) -> str | None:
    """Return the source that takes turns (`turns.py`): the client, for a page without the browser."""
    return client.rpartition("/")[0] if client and client.startswith(PAGE) else client
