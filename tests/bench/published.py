"""The figures of a benchmark beside those that its file has already, each under a name of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def publish(file: Path, name: str, figures: dict[str, Any]) -> None:
    """Put `figures` into the JSON of `file` under `name`, and print them."""
    report = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    report[name] = figures
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))
