"""An entry of the audit log, and the line that it is written out as.

A line is a JSON object of the row's columns, named as the columns are; those that are NULL are left out; keys
sorted, no spaces, UTF-8, nothing escaped that JSON lets stand (RFC 8785). A shop's log is known again by its
head, SHOP:SEQ:DIGEST: the SHA-256 of the lines from the first to SEQ, each with its newline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

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

    @property
    def line(self) -> str:
        """Its canonical JSON."""
        return canonical({name: value for name, value in asdict(self).items() if value is not None})


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces. What RFC 8785 says, for text, whole numbers and keys of ASCII."""
    # `str`: SQLite lets bytes stand in a column of text.
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=str
    )


def stamp(at: datetime) -> str:
    """A time as entries have it: always as long, so that text sorts by time."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def canonical_json(values: Mapping[str, Any] | None) -> str | None:
    """Return `before` or `after` as canonical JSON.

    Raises:
        ValueError: a field is named like a secret or like a customer's words. Deeper down ids may be names.
    """
    if values is None:
        return None
    if named := sorted(_NEVER.intersection(values)):
        raise ValueError(f"{', '.join(named)} must never be in the audit log")
    return canonical(values)
