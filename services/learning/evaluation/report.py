"""A run's report: `figures.json`, `index.html`, `predictions.jsonl`, and recordings of the worst cases.

The folder can be moved and sent: it names nothing outside itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services.learning.evaluation.cases import Names, shown
from services.learning.evaluation.figures import Scored, errors, figures

FIGURES = "figures.json"
PREDICTIONS = "predictions.jsonl"
MAX_RECORDINGS = 40
TEMPLATE = Path(__file__).with_name("report.html.jinja")


def write_report(
    folder: Path,
    rows: Sequence[Scored],
    about: Mapping[str, Any],
    *,
    names: Names | None = None,
    audio_dir: Path | None = None,
    broken: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write the report into `folder`; the path of its page.

    `about` says what was run; `names` are the menu's, else ids are shown; recordings of the worst cases are
    copied from `audio_dir`; gold rows that are `broken` are listed with their errors.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = figures(rows, broken)
    document = json.dumps({"about": about, **found}, indent=1, ensure_ascii=False)
    (folder / FIGURES).write_text(document + "\n", encoding="utf-8")
    with (folder / PREDICTIONS).open("w", encoding="utf-8") as out:
        for row in rows:
            kept = {**row.predicted, "exact": row.exact, "gold": row.gold["cart"]}
            out.write(json.dumps(kept, ensure_ascii=False) + "\n")
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in broken)
    page = folder / "index.html"
    wrong = _cases(rows, names or Names(), folder, audio_dir)
    html = _template().render(about=about, figures=found, errors=errors(rows, broken), cases=wrong)
    page.write_text(html, encoding="utf-8")
    return page


def percent(share: float | None) -> str:
    """A share for people; what was not measured is a dash."""
    return "–" if share is None else f"{share:.1%}"


def interval(ends: tuple[float, float]) -> str:
    """Both ends of an interval of shares."""
    return f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}%"


def _template() -> Any:
    made = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(percent=percent, interval=interval, address=quote)
    return made.get_template(TEMPLATE.name)


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
        gold, predicted = row.gold["cart"]["lines"], row.predicted["cart"]["lines"]
        doubts = [_doubt(f) for f in row.predicted["findings"] if f["severity"] == "blocking"]
        cases.append(
            {
                "row": row,
                "recording": recording,
                "gold": shown(gold, predicted, names),
                "predicted": shown(predicted, gold, names),
                "reasons": [*row.predicted.get("reasons", ()), *doubts],
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
