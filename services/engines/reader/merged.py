"""A model with an adapter worked into its weights: written once, in place of the two.

llama.cpp takes an adapter beside a model. But what it is fast at is not what the small model's weights come
as: four bits with a least value for each block (Q4_1). Worked in, the layers are kept in eight bits (Q8_0),
which lose next to nothing of what was learned, and a pass takes half the time (ADR 69). The rest is copied.

https://github.com/ggml-org/llama.cpp/tree/master/gguf-py reads, rounds and writes.

Cost: some seconds, and 145 MB on disk for SmolLM2-135M; the file, and as much again, in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from schemas.errors import EngineMisconfigured
from services.engines.reader.adapters import Adapter, finish, load, release, written_once

if TYPE_CHECKING:
    from gguf import GGUFReader, GGUFWriter


def merged(model: Path, adapter: Path, models_dir: Path) -> Path:
    """The file of `model` with the adapter of the folder `adapter` in it, written the first time.

    Raises:
        EngineMisconfigured: no such model, no adapter, or one of another model.
        OSError: as `written_once`.
    """
    return written_once(f"{release(adapter)}-q8_0.gguf", models_dir, lambda out: write(model, adapter, out))


def write(model: Path, adapter: Path, out: Path) -> None:
    """`model` to `out` with the adapter of the folder `adapter` in it. Raises EngineMisconfigured."""
    from gguf import GGUFReader, GGUFWriter
    from gguf.quants import QuantError

    added = load(adapter)
    try:
        source = GGUFReader(model)
        writer = GGUFWriter(out, added.architecture)
        _copy_metadata(source, writer, added.architecture)
        _add_tensors(source, writer, added)
    except (OSError, ValueError, KeyError, IndexError, QuantError) as error:
        raise EngineMisconfigured(
            f"The adapter in {adapter} can't be worked into {model}: {error!r:.150}",
            hint="Name one that was trained on this model; those of a release are under infra/adapters.",
        ) from None
    finish(writer)


def _copy_metadata(source: GGUFReader, writer: GGUFWriter, architecture: str) -> None:
    from gguf import GGUFValueType

    for name, field in source.fields.items():
        if name == "general.architecture":
            if field.contents() != architecture:
                raise ValueError(f"it is for {architecture}, the model is {field.contents()}")
        elif not name.startswith("GGUF."):  # the file's own counts
            kind = field.types[0]
            inner = field.types[1] if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), kind, inner)


def _add_tensors(source: GGUFReader, writer: GGUFWriter, adapter: Adapter) -> None:
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize, quantize

    scale, left = adapter.alpha / adapter.rank, dict(adapter.arrays)
    for tensor in source.tensors:
        kind, array = tensor.tensor_type, tensor.data
        down, up = (left.pop(f"{tensor.name}.lora_{side}", None) for side in "ab")
        if down is not None and up is not None:
            whole = dequantize(array, kind) + scale * (up.astype(np.float32) @ down.astype(np.float32))
            kind = GGMLQuantizationType.Q8_0
            array = quantize(whole, kind)
        writer.add_tensor(tensor.name, array, raw_dtype=kind)
    if left:
        raise ValueError(f"the model has no {next(iter(left))}")
