"""When items and options are available: hours in the menu's time zone, and sold out until a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, PrivateAttr, model_validator

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# In each list of an item or option, such as its hours or allergens.
MAX_ENTRIES = 50


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as America/New_York") from None
    return name


Clock = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]
TimeZone = Annotated[str, AfterValidator(_zone)]


class Hours(BaseModel, extra="forbid", frozen=True):
    """A stretch of time on some days, every day by default; one that ends before it begins goes on after
    midnight."""

    days: tuple[Day, ...] = Field(default=DAYS, min_length=1, max_length=len(DAYS))
    start: Clock
    end: Clock

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if self.start == self.end:
            raise ValueError("`start` and `end` are the same")
        return self

    def has(self, local: datetime) -> bool:
        """Return True if a moment, in the menu's time zone, is within these hours."""
        now = f"{local:%H:%M}"  # compares with the others as text
        if self.start < self.end:
            return self._on(local) and self.start <= now < self.end
        before = local - timedelta(days=1)
        return (self._on(local) and now >= self.start) or (self._on(before) and now < self.end)

    def _on(self, local: datetime) -> bool:
        return DAYS[local.weekday()] in self.days

    def __str__(self) -> str:
        days = "" if set(self.days) == set(DAYS) else f"{', '.join(self.days)} "
        return f"{days}{self.start}–{self.end}"


class Offered(BaseModel, extra="forbid", frozen=True):
    """What is sold out until a time, or only served at some hours; `available` is a field of each kind."""

    hours: Annotated[
        tuple[Hours, ...], Field(max_length=MAX_ENTRIES, exclude_if=lambda hours: not hours)
    ] = ()
    sold_out_until: Annotated[AwareDatetime | None, Field(exclude_if=lambda until: until is None)] = None
    _closed: bool = PrivateAttr(default=False)

    @property
    def closed(self) -> bool:
        """True if `at` found it outside its hours."""
        return self._closed

    def at(self, local: datetime) -> Self:
        """Return the part at a moment in the menu's time zone, not `available` if sold out or closed."""
        sold_out = self.sold_out_until is not None and local < self.sold_out_until
        closed = bool(self.hours) and not any(hours.has(local) for hours in self.hours)
        if not (sold_out or closed):
            return self
        return self.gone(closed=not sold_out)

    def gone(self, *, closed: bool) -> Self:
        """Return an unavailable copy: outside its hours (`closed`) or sold out."""
        gone = self.model_copy(update={"available": False})
        gone._closed = closed
        return gone
