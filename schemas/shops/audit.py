"""Entries of the audit log, and the lines that they are exported as.

A line is a JSON object of the row's columns without NULLs: keys sorted, no spaces, UTF-8, minimal escapes
(RFC 8785). The head of a shop's log, SHOP:SEQ:DIGEST, has the SHA-256 of the lines up to SEQ, each with its
newline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

MAX_CHARS = 200

# Fields with secrets or customers' words: entries can never be removed.
_NEVER = frozenset(
    {"password", "password_hash", "secret", "secret_hash", "token", "token_hash", "transcript", "words"}
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is a kind and a name: `key:ab12cd34` (a credential's prefix), `staff:ann`,
    `operator:ann uid=1000@till-1` (the command line), `system:sweeper`. `address` is the peer's.

    Raises:
        ValueError: one of them is empty, too long or not printable.
    """

    name: str
    address: str | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        for value in (self.name, self.address, self.request_id):
            if value is not None and not (1 <= len(value) <= MAX_CHARS and value.isprintable()):
                raise ValueError(f"not a name, address or request id: {value!r}")


UNKNOWN = Actor("unknown")
"""For callers that don't say who acts; everything reachable from outside does."""


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

    @property
    def line(self) -> str:
        """The entry as canonical JSON."""
        return canonical({name: value for name, value in asdict(self).items() if value is not None})


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces: RFC 8785 for text, integers and ASCII keys."""
    # `str`: SQLite allows bytes in a text column.
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=str
    )


def stamp(at: datetime) -> str:
    """Return a time with fixed length, so that it sorts as text."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def canonical_json(values: Mapping[str, Any] | None) -> str | None:
    """Return `before` or `after` as canonical JSON.

    Raises:
        ValueError: a top-level field is named like a secret or a customer's words; deeper keys may be ids.
    """
    if values is None:
        return None
    if named := sorted(_NEVER.intersection(values)):
        raise ValueError(f"{', '.join(named)} must never be in the audit log")
    return canonical(values)
