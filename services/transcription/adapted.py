"""A recogniser's LoRA adapter, worked into its weights.

CTranslate2 takes no adapters, so the weights with the adapter in them are written once, as a model of their
own, which hear as fast as those without. An adapter is kept as peft writes it (`infra/weights/adapters.py`).

Cost: 0.15 GB on disk for the base model, and 6 s on a busy machine.
"""

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
from infra.weights.adapters import CARD, CONFIG, WEIGHTS, made_for, read, release, written_once
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from services.transcription import ctranslate2_file
from services.transcription.parts import part_of

_NAME = re.compile(r"base_model\.model\.model\.(.+)\.lora_A\.weight")
_MODEL = "model.bin"
RECOGNISERS = REPOSITORY / "infra" / "recognisers"

Array = npt.NDArray[Any]


def adapter_of(name: str) -> Path | None:
    """The folder of the adapter that was trained on a recogniser, given its name in the model lock."""
    return made_for(name, RECOGNISERS) if Path(name).name == name else None


def known_as(name: str) -> str:
    """The name of a recogniser's confidences: its adapter's, where it has one."""
    adapter = adapter_of(name)
    return adapter.name if adapter else name


def of_name(name: str, models_dir: Path) -> str:
    """The folder of a recogniser by the name of its confidences: one of the model lock, or an adapter's.

    Raises: as `resolve` and `adapted`.
    """
    adapter = RECOGNISERS / name
    if not (adapter / CARD).exists():
        return resolve(name, models_dir)
    base = json.loads((adapter / CARD).read_text())["base"]
    return str(adapted(Path(resolve(base, models_dir)), adapter, models_dir))


def languages(adapter: Path) -> tuple[str, ...]:
    """Those that it was trained for (`en`); in others the recogniser may hear worse with it."""
    return tuple(json.loads((adapter / CARD).read_text())["languages"])


def adapted(model: Path, adapter: Path, models_dir: Path) -> Path:
    """The folder of `model` with `adapter` in it, written among the weights the first time, or, where these
    can't be written to as in a container, where temporary files go.

    Raises:
        EngineMisconfigured: no adapter, or one of another model.
        OSError: neither folder can be written to.
    """
    return written_once(release(adapter), models_dir, lambda out: _write_folder(model, adapter, out))


def _write_folder(model: Path, adapter: Path, out: Path) -> None:
    try:
        weights = ctranslate2_file.read(model / _MODEL)
        config = json.loads((adapter / CONFIG).read_text())
        tensors = merged(weights.tensors, read(adapter / WEIGHTS), config["lora_alpha"] / config["r"])
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineMisconfigured(
            f"The adapter in {adapter} can't be worked into {model}: {error!r:.100}",
            hint="Name one that was trained on this model; those of a release are under infra/recognisers.",
        ) from None
    out.mkdir()
    for file in model.iterdir():
        if file.name != _MODEL:
            shutil.copy(file, out)
    ctranslate2_file.write(replace(weights, tensors=tensors), out / _MODEL)


def merged(tensors: dict[str, Array], adapter: dict[str, Array], scale: float) -> dict[str, Array]:
    """The weights with `scale` times each layer's product of its two small matrices added.

    Raises:
        KeyError, ValueError: a layer that is not there, or of another size.
    """
    found = dict(tensors)
    for name, down in adapter.items():
        if layer := _NAME.fullmatch(name):
            part = part_of(layer[1])
            up = adapter[name.replace("lora_A", "lora_B")]
            whole = found[f"{part.tensor}/weight"].astype(np.float32)
            block = np.split(whole, part.blocks)[part.block]  # a view
            block += scale * (up.astype(np.float32) @ down.astype(np.float32))
            found[f"{part.tensor}/weight"] = whole.astype(tensors[f"{part.tensor}/weight"].dtype)
    return found
