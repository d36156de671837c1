"""Orders for load tests: tuned golden text and the shipped recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "infra" / "samples" / "recordings"
SPOKEN = RECORDINGS / "gold.jsonl"
WRITTEN = (
    ROOT / "tests" / "golden" / "harbor-coffee-tuned.jsonl",
    ROOT / "tests" / "golden" / "copper-skillet-tuned.jsonl",
)


def rows() -> list[dict[str, Any]]:
    """Return every gold row, spoken ones first."""
    return [json.loads(line) for file in (SPOKEN, *WRITTEN) for line in file.read_text().splitlines()]


def written() -> list[dict[str, str]]:
    """Return text orders: menu and transcript."""
    found = [json.loads(line) for file in WRITTEN for line in file.read_text().splitlines()]
    return [{"menu": row["menu"], "transcript": row["utterance"]} for row in found]


def spoken() -> list[tuple[str, bytes]]:
    """Return spoken orders: menu and recording."""
    found = [json.loads(line) for line in SPOKEN.read_text().splitlines()]
    return [(row["menu"], (RECORDINGS / row["audio"]).read_bytes()) for row in found]
