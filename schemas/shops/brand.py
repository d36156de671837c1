"""A shop's brand on its customers' pages: name, colour and logo."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass

from schemas.errors import InputError

MAX_LOGO_BYTES = 8_000
_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"<svg": "image/svg+xml"}


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
