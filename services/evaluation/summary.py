"""Several reports in one table, and exact carts down the noise ladder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.errors import InputError
from services.evaluation.charts import ladder_chart
from services.evaluation.page import write_page
from services.evaluation.report import FIGURES

SUMMARY = "summary.json"
_KEPT = "rows exact_share exact_ci review_share silent_errors silent_share silent_ci wer".split()


def write_summary(folder: Path, reports: Sequence[Path]) -> Path:
    """`summary.json` and `index.html` of these report folders; the path of the page.

    Reports of one menu and gold file are one set; within it, a report is named by its condition, or by its
    folder when it has none.

    Raises:
        InputError: a folder holds no report.
    """
    rows = [_row(report) for report in reports]
    sets: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for row in rows:
        sets.setdefault(row["set"], []).append((row["condition"], row))
    series = list(sets.items())
    return write_page(
        folder,
        SUMMARY,
        {"reports": rows},
        "summary.html.jinja",
        rows=rows,
        names=list(sets),
        ladder_svg=ladder_chart(series),
    )


def _row(report: Path) -> dict[str, Any]:
    file = report / FIGURES
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        about = found["about"]
        kept = {name: found[name] for name in _KEPT}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{report.name} holds no report: {error!r}",
            hint="Name folders that `saycart eval --report` wrote.",
        ) from None
    return {
        "report": report.name,
        "set": " · ".join(about[name] for name in ("menu", "gold") if about.get(name)) or "unnamed",
        "condition": about.get("condition") or report.name,
        **kept,
        "ms": found["ms"]["total"],
    }
