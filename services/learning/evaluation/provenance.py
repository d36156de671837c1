"""What a run of the evaluation was asked, came to and was made with, so that its figures can be traced."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infra.settings import REPOSITORY, Settings
from schemas.menu import Menu
from services.learning.evaluation.figures import Scored

Row = dict[str, Any]
# What predictions rest on: packages, settings and code.
_PACKAGES = ("saycart", "faster-whisper", "ctranslate2", "onnxruntime", "llguidance", "xllamacpp")
_SETTINGS = {
    *("asr_threshold", "denoiser", "llm_model", "max_order_total"),
    *("whisper_device", "whisper_model", "whisper_second"),
}
_ROOMS = (
    "schemas", "services/retrieval", "services/transcription", "services/decoding",
    "services/validation", "services/pipeline", "services/learning/evaluation", "infra/adapters",
    "infra/recognisers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """Gold rows to score, as `read_rows` returns them, and how."""

    menu: Menu
    gold: Path
    rows: list[Row]
    audio_dir: Path | None = None
    out: Path | None = None
    jobs: int = 1


@dataclass(slots=True)
class EvalRun:
    """Rows that are scored so far, in the order of the gold file, and those that are broken.

    `resumed` counts the rows that an earlier start of this run had finished.
    """

    rows: list[Scored] = field(default_factory=list)
    broken: list[Row] = field(default_factory=list)
    resumed: int = 0


def about(asked: EvalRequest, run: EvalRun, config: Settings) -> dict[str, Any]:
    """The set, commit, versions, settings and date of a run. Names no path."""
    return {
        "menu": asked.menu.id,
        "gold": asked.gold.name,
        "gold_sha256": hashlib.sha256(asked.gold.read_bytes()).hexdigest(),
        "orders_at_once": asked.jobs,
        "rows_of_an_earlier_start": run.resumed,
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "commit": commit(),
        "versions": {package: version(package) for package in _PACKAGES},
        "decode_server": f"external {config.llm_dialect}" if config.llm_url else "embedded",
        "settings": {
            # Of a path only the last part, for a report may be sent to others.
            name: Path(value).name if isinstance(value, str) else value
            for name, value in config.model_dump(mode="json", include=_SETTINGS).items()
        },
    }


def made_with(menu: Menu, config: Settings) -> str:
    """A digest of all that a prediction rests on but its row: menu, settings, packages and code."""
    chosen = config.model_dump(mode="json", include=_SETTINGS) | {"dialect": config.llm_dialect}
    rests_on = [menu.model_dump(mode="json"), chosen, *map(version, _PACKAGES)]
    digest = hashlib.sha256(json.dumps(rests_on, sort_keys=True).encode())
    for room in _ROOMS:
        for file in sorted((REPOSITORY / room).rglob("*")):
            if file.suffix in (".py", ".json", ".toml"):
                digest.update(file.relative_to(REPOSITORY).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def commit() -> str | None:
    """The checkout's commit, marked `-dirty` when files differ from it; None outside a checkout."""
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        return None
    words = ("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
    done = subprocess.run(
        [git, "-C", str(REPOSITORY), *words], capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout.strip() or None
