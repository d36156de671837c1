"""For how long a shop keeps recordings, transcripts and orders, in days after an order's end."""

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
    """Of one shop; None is what the settings say."""

    recordings: Days | None = None
    transcripts: Days | None = None
    orders: Days | None = None

    def over(self, recordings: Days, transcripts: Days, orders: Days) -> Keeping:
        """With these where the shop says nothing."""
        return Keeping(self.recordings or recordings, self.transcripts or transcripts, self.orders or orders)

    def shown(self) -> dict[str, Days | str]:
        """As people write it."""
        return {what: kept or DEFAULT for what, kept in asdict(self).items()}


def parse_days(text: str) -> Days | None:
    """`30`, `forever`, or `default`, which is None.

    Raises:
        InputError: none of these. 0 is neither "at once" nor "for ever": it would be taken for both.
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


def seconds(kept: Days | None) -> float | None:
    """None where it is kept for ever."""
    return None if kept is None or kept == FOREVER else kept * DAY_S
