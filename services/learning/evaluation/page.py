"""The HTML pages: the templates here, filled with every text escaped. A page needs no other host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = Path(__file__).with_name("templates")


def write_page(folder: Path, name: str, data: Mapping[str, Any], template: str, **values: Any) -> Path:
    """`name` with `data` as JSON, and `index.html` next to it; the path of the page.

    `values` whose name ends in `_svg` are drawings of ours and stand as they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    drawn = {
        key: Markup(value) if key.endswith("_svg") and value else value  # noqa: S704 (our own drawings)
        for key, value in values.items()
    }
    page = folder / "index.html"
    page.write_text(_templates().get_template(template).render(drawn), encoding="utf-8")
    return page


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(percent=percent, interval=interval, shown=_shown, address=quote)
    return made


def percent(share: float | None) -> str:
    """A share for people; what was not measured is a dash."""
    return "–" if share is None else f"{share:.1%}"


def interval(ends: tuple[float, float]) -> str:
    """Both ends of an interval of shares."""
    return f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}%"


def _shown(value: Any) -> str:
    """A value of `about` in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return str(value)
