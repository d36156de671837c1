"""What a container says of its own length; shared by its readers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declared:
    """`seconds` that the header promises at least (None: it does not say); `cut` says what is missing.

    `tolerance_s` may be missing from what is decoded: by default the delay and padding of an encoder, which
    are declared and then trimmed (AAC: up to 2112 samples, 0.13 s at 16 kHz).
    """

    seconds: float | None = None
    cut: str | None = None
    tolerance_s: float = 0.2


WHOLE_BUT_SILENT_ABOUT_LENGTH = Declared()
