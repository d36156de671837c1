"""The evaluation's plots as files of their own: with a name space, colours and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

STYLE = """<style>
svg { --text: #1b2330; --quiet: #5a6577; --grid: #e6eaf0; --card: #fff; --first: #1f6feb; --second: #b4540a; }
@media (prefers-color-scheme: dark) { svg { --text: #e6eaf1; --quiet: #9aa6b8; --grid: #2a3240;
  --card: #1a202a; --first: #6ea8fe; --second: #f0a35e; } }
text { fill: var(--text); font: 14px system-ui, sans-serif; }
.name, .legend { fill: var(--quiet); } .grid { stroke: var(--grid); fill: none; }
.axis { stroke: var(--quiet); fill: none; } .line { fill: none; stroke-width: 2; } .faint { opacity: 0; }
.first { stroke: var(--first); } .second { stroke: var(--second); }
.mark { stroke: var(--card); stroke-width: 1.5; } .mark.first { fill: var(--first); }
.mark.second { fill: var(--second); }
</style>"""


def write_svg(file: Path, svg: str, legend: Sequence[str] = ()) -> None:
    """One drawing of `evaluation/plots.py` as a file; `legend` names its first and second series."""
    head, _, body = svg.partition(">")
    shown = "".join(
        f'<circle class="mark {style}" cx="{60 + 210 * place}" cy="10" r="5"/>'
        f'<text class="legend" x="{70 + 210 * place}" y="15">{escape(name)}</text>'
        for place, (style, name) in enumerate(zip(("first", "second"), legend, strict=False))
    )
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="720" ', 1)
    file.write_text(f"{head}>{STYLE}{shown}{body}\n", encoding="utf-8")
