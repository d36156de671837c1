"""Plots as inline SVG: axes with labels and gridlines, lines and marks. Colours are the page's classes,
so that one drawing serves light and dark. Sizes are in the units of a 480 wide drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 24, 56

Point = tuple[float, float]
Axis = tuple[str, Sequence[tuple[float, str]]]
"""A name, and ticks from low to high as (value, label)."""


class Plot:
    """One pair of axes. Values are in data units."""

    def __init__(
        self,
        title: str,
        x: Axis,
        y: Axis,
    ) -> None:
        """`title` is read out to those who can't see it."""
        self._title = title
        self._low_x, self._high_x = x[1][0][0], x[1][-1][0]
        self._low_y, self._high_y = y[1][0][0], y[1][-1][0]
        self._body: list[str] = []
        for value, label in y[1]:
            at = self._y(value)
            self._body.append(f'<path class="grid" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>')
            self._text(LEFT - 8, at + 5, label, "end")
        for value, label in x[1]:
            at = self._x(value)
            self._body.append(f'<path class="grid" d="M{at} {TOP}V{HEIGHT - BOTTOM}"/>')
            self._text(at, HEIGHT - BOTTOM + 20, label, "middle")
        self._body.append(f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
        self._text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x[0], "middle", "name")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self._body.append(
            f'<text class="name" text-anchor="middle" transform="translate(15 {middle}) rotate(-90)">'
            f"{escape(y[0])}</text>"
        )

    def area(self, low: Point, high: Point, style: str) -> None:
        """A shaded rectangle between two corners."""
        x, y = self._x(low[0]), self._y(high[1])
        width, height = self._x(high[0]) - x, self._y(low[1]) - y
        self._body.append(
            f'<rect class="{style}" x="{x}" y="{y}" width="{width:.1f}" height="{height:.1f}"/>'
        )

    def line(self, points: Iterable[Point], style: str) -> None:
        path = "L".join(f"{self._x(x)} {self._y(y)}" for x, y in points)
        self._body.append(f'<path class="line {style}" d="M{path}"/>')

    def dot(self, point: Point, style: str, says: str) -> None:
        """A round mark; `says` is shown where the pointer rests."""
        x, y = self._x(point[0]), self._y(point[1])
        self._body.append(
            f'<circle class="mark {style}" cx="{x}" cy="{y}" r="5"><title>{escape(says)}</title></circle>'
        )

    def diamond(self, point: Point, style: str, says: str) -> None:
        x, y = self._x(point[0]), self._y(point[1])
        shape = f"M{x} {y - 8}l8 8l-8 8l-8 -8z"
        self._body.append(f'<path class="mark {style}" d="{shape}"><title>{escape(says)}</title></path>')

    def whisker(self, x: float, low: float, high: float, style: str) -> None:
        """An interval of y, as a bar with caps."""
        at, bottom, top = self._x(x), self._y(low), self._y(high)
        self._body.append(
            f'<path class="line {style}" d="M{at} {bottom}V{top}M{at - 4} {bottom}h8M{at - 4} {top}h8"/>'
        )

    def note(self, point: Point, text: str) -> None:
        """Small text, centred over a point."""
        self._text(self._x(point[0]), self._y(point[1]) - 4, text, "middle", "small")

    def svg(self) -> str:
        title = escape(self._title)
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
            f"<title>{title}</title>{''.join(self._body)}</svg>"
        )

    def _x(self, value: float) -> float:
        share = (value - self._low_x) / ((self._high_x - self._low_x) or 1)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def _y(self, value: float) -> float:
        share = (value - self._low_y) / ((self._high_y - self._low_y) or 1)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def _text(self, x: float, y: float, text: str, anchor: str, style: str = "tick") -> None:
        self._body.append(
            f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
        )


def percent_ticks(highest: float) -> list[tuple[float, str]]:
    """Round ticks from 0 to at least `highest` (a share), four to six of them."""
    for step in (0.01, 0.02, 0.05, 0.1, 0.2):
        if highest <= 5 * step:
            break
    count = max(1, -int(-highest // step)) if highest else 1
    return [(round(i * step, 4), f"{i * step:.0%}") for i in range(min(count, int(1 / step)) + 1)]
