"""A shop's settings: how many days it keeps data, how it accepts orders, its brand on customers' pages."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import asdict, dataclass
from typing import Literal

from schemas.errors import InputError

FOREVER: Literal["forever"] = "forever"
DEFAULT = "default"
MOST = 36_500
DAY_S = 86_400.0

Days = int | Literal["forever"]

MAX_LOGO_BYTES = 8_000
_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"<svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Keeping:
    """Retention of one shop; None means the default of the settings."""

    recordings: Days | None = None
    transcripts: Days | None = None
    orders: Days | None = None

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


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a shop accepts without asking its customer or a person."""

    at_once: bool = False
    """Orders from its pages in which nothing is in doubt, without the customer's confirmation."""
    allergies: bool = False
    """Allergies and diets that the order's notes have, without a person."""


@dataclass(frozen=True, slots=True)
class Brand:
    """`colour` is `#rrggbb`, `logo` a data URL; None means the default."""

    name: str
    colour: str | None = None
    logo: str | None = None

    @property
    def ink(self) -> str | None:
        """Black or white, whichever is easier to read on the colour (at least 4.5:1)."""
        if self.colour is None:
            return None
        red, green, blue = (_linear(int(self.colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        return "#000000" if luminance > 0.179 else "#ffffff"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.03928 else ((channel + 0.055) / 1.055) ** 2.4


def parse_colour(text: str) -> str:
    """Return `#0a7` or `#00AA77` as `#00aa77`; raises InputError for anything else."""
    if not re.fullmatch(r"#(?:[0-9a-fA-F]{3}){1,2}", text):
        raise InputError(f"{text[:20]!r} is not a colour", hint="Write it as #0a7 or #00aa77.")
    digits = text[1:].lower()
    return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))


def logo_url(picture: bytes) -> str:
    """Return a PNG, JPEG or SVG picture as a data URL; raises InputError for another, or a large one."""
    kind = next((kind for start, kind in _PICTURES.items() if picture.lstrip().startswith(start)), None)
    if kind is None or len(picture) > MAX_LOGO_BYTES:
        raise InputError(
            "This is not a PNG, JPEG or SVG picture of at most 8 kB",
            hint="An SVG file begins with `<svg`.",
        )
    return f"data:{kind};base64,{b64encode(picture).decode()}"
