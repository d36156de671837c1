"""An entry of the audit log, its one canonical form and its hash, and how a chain of them is followed.

The form, so that anybody can check it: a JSON object of the row's columns without `hash`, named as the
columns are; those that are NULL are left out; keys sorted, no spaces, UTF-8, nothing escaped that JSON lets
stand (RFC 8785). Every value is text as the column holds it, `before` and `after` too; only `seq` is a whole
number. `hash` is the SHA-256 of that, in hexadecimal. `previous` is the hash of the entry before, 64 zeros in
the first. A column that is added later is NULL in what is there, so it changes no hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from schemas.errors import InputError

GENESIS = "0" * 64
"""`previous` of the first entry of a chain."""

MAX_CHARS = 200

# Names under which a secret, or what a customer said, would come. No entry can ever be taken back.
_NEVER = frozenset(
    {"password", "password_hash", "secret", "secret_hash", "token", "token_hash", "transcript", "words"}
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is a kind and who of that kind: `key:ab12cd34` (a credential's prefix), `staff:ann`,
    `operator:ann uid=1000@till-1` (the command line), `system:sweeper`. `address` is the peer's.

    Raises:
        ValueError: one of them is empty, overlong, or holds what no line of a list can show.
    """

    name: str
    address: str | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        for given in (self.name, self.address, self.request_id):
            if given is not None and not (1 <= len(given) <= MAX_CHARS and given.isprintable()):
                raise ValueError(f"no name, address or id of a request: {given!r}")


UNKNOWN = Actor("unknown")
"""Where a caller does not say who acts; what can be reached from outside always says it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of `audit_log`, as stored: `at` is ISO 8601 in UTC, `before` and `after` are JSON as text."""

    shop_id: str
    seq: int
    at: str
    actor: str
    address: str | None
    request_id: str | None
    action: str
    object_type: str
    object_id: str
    before: str | None
    after: str | None
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain, to be kept where who can write the database can't: `SHOP:SEQ:HASH`."""

    shop_id: str
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.shop_id}:{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Raises InputError."""
        shop, _, rest = text.strip().partition(":")
        seq, _, digest = rest.partition(":")
        is_hash = len(digest) == len(GENESIS) and not set(digest) - set("0123456789abcdef")
        if not (shop and seq.isascii() and seq.isdecimal() and int(seq) and is_hash):
            raise InputError(
                f"{text!r} is not a head", hint="`saycart audit head` prints one: SHOP:SEQ:HASH."
            )
        return cls(shop, int(seq), digest)


class Chain:
    """Follows the entries of one shop from the first on, and says what is wrong with the first that is."""

    def __init__(self, shop_id: str) -> None:
        self.head = Head(shop_id, 0, GENESIS)

    def fault(self, entry: Entry) -> str | None:
        """What is wrong with the entry that comes next, None when it is right and now the head."""
        wanted = self.head.seq + 1
        if entry.seq != wanted:
            return f"entry {wanted} is missing: the next one there is numbered {entry.seq!r}"
        try:
            is_whole = entry.hash == digest_of(entry)
        except (TypeError, ValueError):  # bytes, or text that is no Unicode: somebody's hand, not ours
            is_whole = False
        if not is_whole:
            return f"entry {wanted} was changed: its fields do not give its hash"
        if entry.previous != self.head.hash:
            before = f"entry {wanted - 1}" if self.head.seq else "the beginning"
            return f"entry {wanted} does not follow {before}: one of them was written anew"
        self.head = Head(self.head.shop_id, wanted, entry.hash)
        return None


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces. What RFC 8785 says, for text, whole numbers and keys of ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(entry: Entry) -> str:
    """The hash that an entry should have, by its other fields."""
    fields = {name: value for name, value in asdict(entry).items() if name != "hash" and value is not None}
    return hashlib.sha256(canonical(fields).encode()).hexdigest()


def stamp(at: datetime) -> str:
    """A time as entries have it: always as long, so that text sorts by time."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def told(values: Mapping[str, Any] | None) -> str | None:
    """`before` or `after` as text.

    Raises:
        ValueError: a field is named like a secret or like a customer's words. Deeper down ids may be names.
    """
    if values is None:
        return None
    if named := sorted(_NEVER.intersection(values)):
        raise ValueError(f"{', '.join(named)} must never be in the audit log")
    return canonical(values)
