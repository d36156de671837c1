"""What a run of the evaluation was made with, so that its figures can be traced and made again."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infra.settings import REPOSITORY, Settings
from schemas.menu import Menu

_HOSTS = ("faster-whisper", "ctranslate2", "onnxruntime", "llguidance", "xllamacpp")
_ROOMS = (
    "schemas", "services/reading", "services/hearing", "services/checks", "services/pipeline",
    "services/engines", "services/evaluation", "infra/adapters", "infra/recognisers",
)  # fmt: skip


def about(
    *,
    menu_id: str,
    gold: Path,
    rows: int,
    spoken: int,
    condition: str | None,
    jobs: int,
    kept: dict[str, int],
    config: Settings,
    taken_up: int = 0,
) -> dict[str, Any]:
    """Set, engines, models and date of a run over `rows` rows, `spoken` of them heard. Names no path.

    `kept` counts the answers of engines that an earlier run had kept, by kind; `taken_up` the rows that
    an earlier start of this run had finished.
    """
    told: dict[str, Any] = {
        "menu": menu_id,
        "gold": gold.name,
        "gold_sha256": hashlib.sha256(gold.read_bytes()).hexdigest(),
        "condition": condition,
        "orders_at_once": jobs,
        "kept_from_an_earlier_run": kept,
        "rows_of_an_earlier_start": taken_up,
        "rows": rows,
        "spoken_rows": spoken,
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "commit": commit(),
        "saycart": version("saycart"),
        "decoder": {
            "model": _name(config.llm_model),
            "server": f"external {config.llm_dialect}" if config.llm_url else "embedded llama.cpp",
            "xllamacpp": version("xllamacpp"),
            "llguidance": version("llguidance"),
        },
        "asr_threshold": config.asr_threshold,
        "field_threshold": config.field_threshold,
    }
    if spoken:
        from services.engines.recognition.whisper import COMPUTE, OPTIONS

        told["hearing"] = {
            "model": _name(config.whisper_model),
            "second": _name(config.whisper_second) if config.whisper_second else None,
            "denoiser": _name(config.denoiser) if config.denoiser else None,
            "faster-whisper": version("faster-whisper"),
            "device": config.whisper_device,
            "precision": COMPUTE.get(config.whisper_device, "default"),
            "options": OPTIONS,
        }
    return told


def made_with(menu: Menu, config: Settings) -> str:
    """Everything that a prediction rests on but its row: menu, settings, models, libraries and code."""
    told: list[Any] = [
        menu.model_dump(mode="json"),
        config.llm_dialect,
        config.llm_model,
        config.whisper_model,
    ]
    told += [
        config.whisper_second,
        config.denoiser,
        config.whisper_device,
        config.asr_threshold,
        config.field_threshold,
    ]
    told += [config.max_order_total, *map(version, _HOSTS)]
    digest = hashlib.sha256(json.dumps(told).encode())
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
