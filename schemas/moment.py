"""Times as the API shows them: RFC 3339 in UTC, with milliseconds and `Z`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator


def rfc3339(moment: datetime) -> str:
    """Return the text of a time; raises ValueError for one without a zone, which is a bug of ours."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(given: Any) -> Any:
    return rfc3339(given) if isinstance(given, datetime) else given


Moment = Annotated[str, BeforeValidator(_text)]
"""A field that also takes a datetime."""
