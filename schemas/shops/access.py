"""Who may do what: scopes of a shop's keys, roles of its people, and what a credential comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schemas.errors import InputError

MAIN_SHOP = "main"
"""The shop that every deployment begins with; what was stored before there were shops belongs to it."""

EVERY_SHOP = "*"
"""In place of a shop's id, for those who work for all shops: workers, the sweeper, operators at the machine.
Never what a credential comes to."""


class Scope(StrEnum):
    """What a key may be given; each call of the API and each page names the one that it asks for."""

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
        """What a row says, without those that a later release has given: nothing here asks for them."""
        return frozenset(scope for scope in cls if scope in set(map(str, values)))

    @classmethod
    def parse(cls, texts: Iterable[str]) -> frozenset[Scope]:
        """Return the scopes that texts name, with commas between; raises InputError for an unknown one."""
        words = {word.strip() for text in texts for word in text.split(",")} - {""}
        if unknown := sorted(words.difference(cls)):
            raise InputError(f"{unknown[0][:60]!r} is not a scope", hint=f"Scopes are {', '.join(cls)}.")
        return frozenset(map(cls, words))


class Role(StrEnum):
    """What a person is to the shop; each holds what those before it hold."""

    REVIEWER = "reviewer"
    MANAGER = "manager"
    ADMIN = "admin"

    @classmethod
    def stored(cls, value: str) -> Role | None:
        """What a row says; None for a role of a later release, which holds nothing here."""
        return cls(value) if value in set(cls) else None


_REVIEWER = frozenset({Scope.ORDERS_READ, Scope.REVIEWS, Scope.MENUS_READ})
_MANAGER = _REVIEWER | {Scope.ORDERS_WRITE, Scope.MENUS_WRITE, Scope.MASKED}
ALL_SCOPES = frozenset(Scope)
ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    Role.REVIEWER: _REVIEWER,
    Role.MANAGER: _MANAGER,
    Role.ADMIN: ALL_SCOPES - {Scope.METRICS},
}
"""`metrics` is left out: it counts what all shops do, so that only an operator can give it to a key."""

VISITOR_SCOPES = frozenset({Scope.ORDERS_WRITE, Scope.MENUS_READ})
"""What a customer at a shop's order page may do: order, and read the menu."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one credential comes to, for the length of one request.

    `actor` names the credential in logs, records and limits: `key:ID`, `staff:NAME`, `page` at `/` and
    `page:KEY` elsewhere, `customer`, `open`. `person` is the account behind it, who alone may hold and decide
    reviews; a key may act for one. `order` is the one order that a customer's capability opens; None for
    everyone else.
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
    """Return what an account may do: nothing, where its role is not known here."""
    scopes = ROLE_SCOPES[role] if role else frozenset[Scope]()
    return Access(shop=shop, actor=f"staff:{name}", scopes=scopes, person=name)


PAGE = "page:"
"""How the client of an order that came from a page begins: `page:KEY/ADDRESS/BROWSER`."""


def is_page(source: str | None) -> bool:
    """Whether an order, or a caller that may send one, comes from a page."""
    return source is not None and source.startswith(PAGE)


def source_of(client: str | None) -> str | None:
    """Whose turn an order takes (`turns.py`): its client's, without the browser where it came from a page."""
    return client.rpartition("/")[0] if client and client.startswith(PAGE) else client
