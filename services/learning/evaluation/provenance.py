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
_HOSTS = ("faster-whisper", "ctranslate2", "onnxruntime", "llguidance", "xllamacpp")
_ROOMS = (
    "schemas", "services/retrieval", "services/transcription", "services/decoding",
    "services/validation", "services/pipeline", "services/learning/evaluation", "infra/adapters",
    "infra/recognisers",
)  # fmt: skip
# Settings that change what is predicted, and are shown in a report as they are.
_SHOWN = frozenset({"asr_threshold"})
_RESTS_ON = _SHOWN | {
    *("llm_model", "whisper_model", "whisper_second", "whisper_device", "denoiser", "max_order_total")
}


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """Gold rows to score, as `read_rows` returns them, and how."""

    menu: Menu
    gold: Path
    rows: list[Row]
    audio_dir: Path | None = None
    out: Path | None = None
    condition: str | None = None
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
    """Set, engines, models and date of a run. Names no path."""
    spoken = sum(row.spoken for row in run.rows)
    return {
        "menu": asked.menu.id,
        "gold": asked.gold.name,
        "gold_sha256": hashlib.sha256(asked.gold.read_bytes()).hexdigest(),
        "condition": asked.condition,
        "orders_at_once": asked.jobs,
        "rows_of_an_earlier_start": run.resumed,
        "rows": len(run.rows),
        "spoken_rows": spoken,
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "commit": commit(),
        "saycart": version("saycart"),
        "decoder": _decoder(config),
        **config.model_dump(include=set(_SHOWN)),
        **({"hearing": _recognizer(config)} if spoken else {}),
    }


def _decoder(config: Settings) -> dict[str, Any]:
    return {
        "model": _name(config.llm_model),
        "server": f"external {config.llm_dialect}" if config.llm_url else "embedded llama.cpp",
        "xllamacpp": version("xllamacpp"),
        "llguidance": version("llguidance"),
    }


def _recognizer(config: Settings) -> dict[str, Any]:
    from services.transcription.whisper import COMPUTE, OPTIONS

    return {
        "model": _name(config.whisper_model),
        "second": _name(config.whisper_second) if config.whisper_second else None,
        "denoiser": _name(config.denoiser) if config.denoiser else None,
        "faster-whisper": version("faster-whisper"),
        "device": config.whisper_device,
        "precision": COMPUTE.get(config.whisper_device, "default"),
        "options": OPTIONS,
    }


def made_with(menu: Menu, config: Settings) -> str:
    """A digest of all that a prediction rests on but its row: menu, settings, models, libraries and code."""
    rests_on = [
        menu.model_dump(mode="json"),
        config.model_dump(mode="json", include=set(_RESTS_ON)),
        config.llm_dialect,
        *map(version, _HOSTS),
    ]
    digest = hashlib.sha256(json.dumps(rests_on, sort_keys=True).encode())
    for room in _ROOMS:
        for file in sorted((REPOSITORY / room).rglob("*")):
            if file.suffix in (".py", ".json", ".toml"):
                digest.update(file.relative_to(REPOSITORY).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _name(model: str) -> str:
    """A model's name; of a path only the last part, for a report may be sent to others."""
    return Path(model).name if Path(model).exists() else model


def commit() -> str | None:
    """The checkout's commit, marked when files differ from it; None outside a checkout."""
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        return None

    def ask(*words: str) -> str:
        done = subprocess.run(
            [git, "-C", str(REPOSITORY), *words], capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout.strip()

    commit = ask("rev-parse", "--short=12", "HEAD")
    changed = ask("status", "--porcelain", "--untracked-files=no")
    return f"{commit} and changes" if commit and changed else commit or None
