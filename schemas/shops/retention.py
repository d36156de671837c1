"""How long a shop keeps recordings, transcripts and orders, in days after an order ends."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Literal

from schemas.errors import InputError

FOREVER: Literal["forever"] = "forever"
DEFAULT = "default"
MOST = 36_500
DAY_S = 86_400.0

Days = int | Literal["forever"]


@dataclass(frozen=True, slots=True)
class Keeping:
    """Retention of one shop; None means the default of the settings."""

    recordings: Days | None = None
    transcripts: Days | None = None
    orders: Days | None = None

    def over(self, recordings: Days, transcripts: Days, orders: Days) -> Keeping:
        """Return a copy with these defaults filled in."""
        return Keeping(self.recordings or recordings, self.transcripts or transcripts, self.orders or orders)

    def shown(self) -> dict[str, Days | str]:
        """Return the values as people write them."""
        return {what: days or DEFAULT for what, days in asdict(self).items()}


def parse_days(text: str) -> Days | None:
    """Parse `30`, `forever`, or `default`, which is None.

    Raises:
        InputError: none of these. 0 could mean "at once" or "forever", so it is refused.
    """
    if text == DEFAULT:
        return None
    if text == FOREVER:
        return FOREVER
    if re.fullmatch(r"[0-9]{1,5}", text) and 1 <= int(text) <= MOST:
        return int(text)
    raise InputError(
        f"{text[:40]!r} is not a number of days", hint=f"Use 1 to {MOST} days, `forever`, or `default`."
    )


def seconds(days: Days | None) -> float | None:
    """Return the retention in seconds; None for no limit."""
    return None if days is None or days == FOREVER else days * DAY_S
