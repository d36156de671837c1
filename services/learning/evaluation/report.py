"""The report of an evaluation: `figures.json`, and `predictions.jsonl` with a row for each order.

The folder can be shared: it contains no paths of this machine.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infra.settings import Settings
from services.learning.evaluation.figures import figures
from services.learning.evaluation.session import SETTINGS, EvalRequest, EvalRun

FIGURES = "figures.json"
PREDICTIONS = "predictions.jsonl"


def write_report(
    folder: Path, gold: Path, request: EvalRequest, run: EvalRun, config: Settings, commit: str | None
) -> None:
    """Write the report of a run over the rows of `gold`, by the code of `commit`, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    head = about(gold, request, run, config) | {"commit": commit}
    content = {"about": head, **figures(run.rows, run.broken)}
    document = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / FIGURES).write_text(document + "\n", encoding="utf-8")
    scored = [{**row.predicted, "exact": row.exact, "gold": row.gold["cart"]} for row in run.rows]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in (*scored, *run.broken))
    (folder / PREDICTIONS).write_text("".join(lines), encoding="utf-8")


def about(gold: Path, request: EvalRequest, run: EvalRun, config: Settings) -> dict[str, Any]:
    """Return the gold set, release, settings and date of a run, without paths."""
    return {
        "menu": request.menu.id,
        "gold": gold.name,
        "gold_sha256": hashlib.sha256(gold.read_bytes()).hexdigest(),
        "rows_of_an_earlier_start": run.resumed,
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "version": version("saycart"),
        "decode_server": f"external {config.llm_dialect}" if config.llm_url else "embedded",
        "settings": {
            name: Path(value).name if isinstance(value, str) else value
            for name, value in config.model_dump(mode="json", include=SETTINGS).items()
        },
    }
