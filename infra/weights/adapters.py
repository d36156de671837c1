"""LoRA adapters, stored as safetensors (for vLLM) and converted to GGUF (for llama.cpp).

An adapter is stored once, in peft's format; its GGUF is written next to the weights when the embedded server
first needs it (0.2 s for 18 MB). `trained.json` names its base model. A safetensors file
(https://huggingface.co/docs/safetensors) is a JSON header and flat arrays, so no package is needed to
read it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from infra.settings import REPOSITORY
from schemas.errors import EngineMisconfigured

ADAPTERS = REPOSITORY / "infra" / "adapters"
WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "trained.json"
_ARCHITECTURE = "qwen2"
# peft's names for the layers of Qwen2 -> llama.cpp's.
_LAYERS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAME = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(\w+\.\w+)\.lora_([AB])\.weight")
_HINT = "`make train` creates an adapter; released ones are in infra/adapters."

Array = npt.NDArray[Any]


def adapter_for(model: str, folder: Path | None = None) -> Path | None:
    """Return the folder of the adapter for a model, given its name or file; searches `ADAPTERS`, or
    `folder`."""
    for file in sorted((folder or ADAPTERS).glob(f"*/{CARD}")):
        if json.loads(file.read_text())["base"] == Path(model).name:
            return file.parent
    return None


def release(folder: Path) -> str:
    """Return an adapter's name with a digest of its weights, which changes with each training."""
    return f"{folder.name}-{hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:12]}"


def prepared(adapter: Path, models_dir: Path) -> Path:
    """Return an adapter's GGUF file; `adapter` is a folder, or such a file. Raises as `to_gguf` and
    `written_once`."""
    if not adapter.is_dir():
        return adapter
    return written_once(f"{release(adapter)}.gguf", models_dir, lambda out: to_gguf(adapter, out))


def written_once(name: str, models_dir: Path, write: Callable[[Path], None]) -> Path:
    """Return the file or folder that `write` creates, written atomically the first time: next to the weights,
    or in the temporary folder if that isn't writable, as in a container.

    Raises:
        OSError: neither folder is writable.
    """
    paths = [root / "adapters" / name for root in (models_dir, Path(tempfile.gettempdir()))]
    for out in paths:
        if out.exists():
            return out
    try:
        return _write(paths[0], write)
    except OSError:
        return _write(paths[1], write)


def _write(out: Path, write: Callable[[Path], None]) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=out.parent) as folder:
        unfinished = Path(folder, out.name)
        write(unfinished)
        _flush(unfinished)
        try:
            unfinished.rename(out)
        except OSError:
            if not out.exists():  # else another process was faster
                raise
    return out


def _flush(path: Path) -> None:
    """Sync to disk before the rename: after a power failure it is complete or missing."""
    for file in path.iterdir() if path.is_dir() else [path]:
        with file.open("rb") as open_file:
            os.fsync(open_file.fileno())


def to_gguf(folder: Path, out: Path) -> None:
    """Write the adapter in `folder` to `out` in half precision.

    Raises:
        EngineMisconfigured: no adapter, or one with layers that aren't Qwen2's.
    """
    from gguf import GGUFWriter

    try:
        config = json.loads((folder / CONFIG).read_text())
        arrays = {_gguf_name(name): array for name, array in read(folder / WEIGHTS).items()}
        alpha = float(config["lora_alpha"])
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineMisconfigured(f"No adapter can be read in {folder}: {error!r:.100}", hint=_HINT) from None
    writer = GGUFWriter(out, _ARCHITECTURE)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for name, array in arrays.items():
        writer.add_tensor(name, array.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(file: Path) -> dict[str, Array]:
    """Read the arrays of a safetensors file by name; bfloat16 as float32.

    Raises:
        OSError, ValueError, struct.error: it is missing or not such a file.
    """
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + size]), memoryview(data)[8 + size :]
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = _array(body[begin:end], entry["dtype"]).reshape(entry["shape"])
    return arrays


def _array(body: memoryview, kind: str) -> Array:
    if kind == "BF16":  # the upper half of a float32
        return (np.frombuffer(body, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(body, {"F32": np.float32, "F16": np.float16}[kind])


def _gguf_name(name: str) -> str:
    layer = _NAME.fullmatch(name)
    if layer is None or layer[2] not in _LAYERS:
        raise ValueError(f"{name} is not a layer of Qwen2")
    return f"blk.{layer[1]}.{_LAYERS[layer[2]]}.weight.lora_{layer[3].lower()}"
