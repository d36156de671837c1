"""Files of one JSON object a line, written as results come, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def kept_lines(file: Path) -> list[dict[str, Any]]:
    """What a file has, none where it is not there. A last line that a kill cut short counts as not there, and
    is taken out, so that the next one begins a line of its own."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        file.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1] if line.strip()]
