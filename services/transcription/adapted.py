"""Merge a recognizer's LoRA adapter into its weights.

CTranslate2 has no adapters, so the merged weights are written once, as a separate model of the same speed
(0.15 GB for the base model, 6 s on a busy machine). Adapters are in peft's format
(`infra/weights/adapters.py`)."""

from __future__ import annotations

import json
import re
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from infra.settings import REPOSITORY
from infra.weights.adapters import CARD, CONFIG, WEIGHTS, adapter_for, read, release, written_once
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from services.transcription import ctranslate2_file
from services.transcription.ctranslate2_file import part_of

_NAME = re.compile(r"base_model\.model\.model\.(.+)\.lora_A\.weight")
_MODEL = "model.bin"
RECOGNIZERS = REPOSITORY / "infra" / "recognizers"

Array = npt.NDArray[Any]


def adapter_of(name: str) -> Path | None:
    """Return the folder of a recognizer's adapter, given its name in the model lock."""
    return adapter_for(name, RECOGNIZERS) if Path(name).name == name else None


def of_name(name: str, models_dir: Path) -> str:
    """Return a recognizer's folder, given its name in the model lock or its adapter's.

    Raises: as `resolve` and `adapted`.
    """
    adapter = RECOGNIZERS / name
    if not (adapter / CARD).exists():
        return resolve(name, models_dir)
    base = json.loads((adapter / CARD).read_text())["base"]
    return str(adapted(Path(resolve(base, models_dir)), adapter, models_dir))


def languages(adapter: Path) -> tuple[str, ...]:
    """Return the languages that the adapter was trained for (`en`); it may be worse in others."""
    return tuple(json.loads((adapter / CARD).read_text())["languages"])


def adapted(model: Path, adapter: Path, models_dir: Path) -> Path:
    """Return the folder of `model` merged with `adapter`, written the first time; see `written_once`.

    Raises:
        EngineMisconfigured: no adapter, or another model's.
        OSError: the folder is not writable.
    """
    return written_once(release(adapter), models_dir, lambda out: _write_folder(model, adapter, out))


def _write_folder(model: Path, adapter: Path, out: Path) -> None:
    try:
        weights = ctranslate2_file.read(model / _MODEL)
        config = json.loads((adapter / CONFIG).read_text())
        tensors = merged(weights.tensors, read(adapter / WEIGHTS), config["lora_alpha"] / config["r"])
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineMisconfigured(
            f"The adapter in {adapter} can't be merged into {model}: {error!r:.100}",
            hint="Use an adapter that was trained on this model; released ones are in infra/recognizers.",
        ) from None
    out.mkdir()
    for file in model.iterdir():
        if file.name != _MODEL:
            shutil.copy(file, out)
    ctranslate2_file.write(replace(weights, tensors=tensors), out / _MODEL)


def merged(tensors: dict[str, Array], adapter: dict[str, Array], scale: float) -> dict[str, Array]:
    """Return the weights plus `scale` times the product of each layer's two small matrices.

    Raises:
        KeyError, ValueError: a layer is missing, or has another size.
    """
    result = dict(tensors)
    for name, down in adapter.items():
        if layer := _NAME.fullmatch(name):
            part = part_of(layer[1])
            up = adapter[name.replace("lora_A", "lora_B")]
            whole = result[f"{part.tensor}/weight"].astype(np.float32)
            block = np.split(whole, part.blocks)[part.block]  # a view
            block += scale * (up.astype(np.float32) @ down.astype(np.float32))
            result[f"{part.tensor}/weight"] = whole.astype(tensors[f"{part.tensor}/weight"].dtype)
    return result
