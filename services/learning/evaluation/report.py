"""A run's report: `figures.json`, `predictions.jsonl`, and `index.html`, a table of wrong carts and errors.

The folder can be moved and sent: it names nothing outside itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from schemas.compare import canonical
from services.learning.evaluation.figures import Scored, errors, figures

FIGURES = "figures.json"
PREDICTIONS = "predictions.jsonl"
_HEAD = ("order", "outcome", "transcript", "gold", "predicted")


def write_report(
    folder: Path, rows: Sequence[Scored], about: Mapping[str, Any], broken: Sequence[dict[str, Any]] = ()
) -> Path:
    """Write the report of scored `rows` and `broken` gold rows into `folder`; return its page. `about` is
    what was run."""
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps({"about": about, **figures(rows, broken)}, indent=1, ensure_ascii=False)
    (folder / FIGURES).write_text(document + "\n", encoding="utf-8")
    kept = [{**row.predicted, "exact": row.exact, "gold": row.gold["cart"]} for row in rows]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in (*kept, *broken))
    (folder / PREDICTIONS).write_text("".join(lines), encoding="utf-8")
    page = folder / "index.html"
    table = _rows([_HEAD, *_wrong(rows), *((one["id"], one["error"]) for one in errors(rows, broken))])
    page.write_text(f"<!doctype html>\n<meta charset=utf-8>\n<title>saycart evaluation</title>\n{table}\n")
    return page


def _wrong(rows: Iterable[Scored]) -> list[tuple[str, ...]]:
    """Wrong carts, undetected errors first, the surest of them at the top."""
    wrong = [row for row in rows if not row.exact]
    return [
        (
            row.gold["id"],
            ", ".join(sorted(row.causes)) if row.review else "accepted",
            row.predicted["transcript"],
            *("\n".join(_lines(made["cart"]["lines"])) for made in (row.gold, row.predicted)),
        )
        for row in sorted(wrong, key=lambda row: (row.review, -row.predicted["confidence"]))
    ]


def _lines(cart: list[dict[str, Any]]) -> Iterable[str]:
    """Each line as text, by its ids: `2 L latte, oat, extra foam`."""
    for (kind, sku, size, options), quantity in canonical(cart).items():
        chosen = (
            " ".join(word for word in (portion, amount, option) if word not in ("whole", "normal"))
            + (f" x{count}" if count > 1 else "")
            for _, option, amount, count, portion in sorted(options)
        )
        yield ", ".join([" ".join(filter(None, (str(quantity), size, sku or kind))), *chosen])


def _rows(table: Iterable[Sequence[str]]) -> str:
    cells = ("".join(f"<td><pre>{escape(cell)}</pre>" for cell in row) for row in table)
    return "<table border>\n" + "\n".join(f"<tr>{row}" for row in cells) + "\n</table>"
