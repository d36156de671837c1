"""A run's report: `figures.json`, `index.html`, `predictions.jsonl`, and recordings of the worst cases.

The folder can be moved and sent: it names nothing outside itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from services.learning.evaluation.cases import Names, side_by_side
from services.learning.evaluation.charts import reliability_chart, risk_chart
from services.learning.evaluation.figures import Scored, errors, figures
from services.learning.evaluation.page import write_page

FIGURES = "figures.json"
PREDICTIONS = "predictions.jsonl"
MAX_RECORDINGS = 40


def write_report(
    folder: Path,
    rows: Sequence[Scored],
    about: Mapping[str, Any],
    *,
    asr_threshold: float,
    names: Names | None = None,
    audio_dir: Path | None = None,
    broken: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write the report into `folder`; the path of its page.

    `about` says what was run; `names` are the menu's, else ids are shown; recordings of the worst cases are
    copied from `audio_dir`; gold rows that are `broken` are listed with their errors.
    """
    found = figures(rows, asr_threshold, broken)
    page = write_page(
        folder,
        FIGURES,
        {"about": about, **found},
        "report.html.jinja",
        about=about,
        figures=found,
        errors=errors(rows, broken),
        cases=_cases(rows, names or Names(), folder, audio_dir),
        risk_svg=risk_chart(found["risk_coverage"]),
        calibrations=_calibrations(found["reliability"]),
    )
    with (folder / PREDICTIONS).open("w", encoding="utf-8") as out:
        for row in rows:
            kept = {**row.predicted, "exact": row.exact, "gold": row.gold["cart"]}
            out.write(json.dumps(kept, ensure_ascii=False) + "\n")
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in broken)
    return page


def _calibrations(reliability: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A chart for each kind of confidence: of carts and lines, then of fields by kind."""
    titles = {"asr": "ASR confidence against exact carts", "line": "Line confidence against right lines"}
    charted = {"asr": "cart"}
    return [
        {
            "title": titles.get(kind, f"Field confidence: {kind}"),
            "svg": Markup(reliability_chart(charted.get(kind, kind), bins)),  # noqa: S704 (our own drawing)
            **bins,
        }
        for kind, bins in reliability.items()
    ]


def _cases(
    rows: Sequence[Scored], names: Names, folder: Path, audio_dir: Path | None
) -> list[dict[str, Any]]:
    """Wrong carts, the worst first: those that were accepted unseen, the surest of them at the top."""
    wrong = sorted((row for row in rows if not row.exact), key=lambda row: (row.review, -row.confidence))
    cases = []
    for index, row in enumerate(wrong):
        recording = None
        if audio_dir is not None and row.spoken and index < MAX_RECORDINGS:
            recording = _keep(audio_dir, row.gold["audio"], folder)
        cases.append(
            {
                "row": row,
                "recording": recording,
                "lines": side_by_side(row.gold["cart"]["lines"], row.predicted["cart"]["lines"], names),
                "doubts": [_doubt(f) for f in row.predicted["findings"] if f["severity"] == "blocking"],
            }
        )
    return cases


def _doubt(finding: Mapping[str, Any]) -> str:
    """A finding with what only a reviewer is shown."""
    return f"{finding['message']} ({finding['detail']})" if finding.get("detail") else finding["message"]


def _keep(audio_dir: Path, name: str, folder: Path) -> str | None:
    """Copy one recording into the report; its address there, or None when it is lost."""
    source = audio_dir / name
    # One flat folder: recordings of one name from two folders must not meet.
    flat = "-".join(part for part in Path(name).parts if part not in ("..", Path(name).anchor))
    target = folder / "audio" / flat
    if not source.is_file():
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (target.exists() and target.samefile(source)):
        shutil.copyfile(source, target)
    return f"audio/{flat}"
