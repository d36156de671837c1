"""Bar plots as SVG, made on the server. Colours come from the style sheet, by class."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

# In SVG units; the page scales it to its width.
WIDTH, HEIGHT, FOOT, HEAD = 480, 190, 28, 24
# The minimum distance of labels.
LABEL_WIDTH = 84


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label under the axis, and its value."""

    label: str
    value: int


def bars(data: list[Bar], what: str) -> Markup:
    """Return the plot as SVG, with its values as text for screen readers."""
    top = max((bar.value for bar in data), default=0)
    step = WIDTH / max(1, len(data))
    plot_height = HEIGHT - FOOT - HEAD
    every = max(1, round(LABEL_WIDTH / step))
    values = ", ".join(f"{bar.label}: {bar.value}" for bar in data if bar.value) or "none"
    parts = [
        Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            WIDTH, HEIGHT, f"{what}: {values}"
        ),
        Markup('<line class="axis" x1="0" x2="{}" y1="{y}" y2="{y}"/>').format(WIDTH, y=HEIGHT - FOOT),
    ]
    for index, bar in enumerate(data):
        high = round(plot_height * bar.value / top, 1) if top else 0
        left, middle = round(index * step + step * 0.15, 1), round(index * step + step / 2, 1)
        if bar.value:
            parts.append(
                Markup('<rect class="bar" x="{}" y="{}" width="{}" height="{}" rx="4"/>').format(
                    left, HEIGHT - FOOT - high, round(step * 0.7, 1), high
                )
            )
            parts.append(
                Markup('<text class="value" x="{}" y="{}">{}</text>').format(
                    middle, HEIGHT - FOOT - high - 5, bar.value
                )
            )
        if (len(data) - 1 - index) % every == 0:
            parts.append(Markup('<text x="{}" y="{}">{}</text>').format(middle, HEIGHT - 8, bar.label))
    return Markup("").join([*parts, Markup("</svg>")])
