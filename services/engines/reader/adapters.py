"""LoRA adapters: as they are kept (safetensors, as vLLM loads them), and as llama.cpp loads them (GGUF).

An adapter is kept once, in the format of peft; the GGUF is written beside the weights the first time that
the embedded server needs it. `trained.json` says of which model it is and what for: to read orders, or to
check carts (`role`). Both formats are a head and flat arrays, so no package is needed:
https://huggingface.co/docs/safetensors and https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

Cost: 0.2 s for 18 MB.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from infra.settings import REPOSITORY
from schemas.errors import EngineMisconfigured

ADAPTERS = REPOSITORY / "infra" / "adapters"
WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "trained.json"
# peft's names for the layers of Qwen2 and Llama -> llama.cpp's.
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
_ALIGNED = 32
_F16, _STRING, _FLOAT32 = 1, 8, 6
_HINT = "`make train` makes an adapter; those of a release are under infra/adapters."

Array = npt.NDArray[Any]
Role = Literal["read", "check"]


def made_for(model: str, among: Path | None = None, *, role: Role = "read") -> Path | None:
    """The folder of the adapter that was trained on a model of the lock, given its name or its file; of the
    adapters in `ADAPTERS`, or of those in `among`."""
    for file in sorted((among or ADAPTERS).glob(f"*/{CARD}")):
        card = json.loads(file.read_text())
        if card["base"] == Path(model).name and card.get("role", "read") == role:
            return file.parent
    return None


def release(folder: Path) -> str:
    """An adapter's name with what its weights are: another after each training."""
    return f"{folder.name}-{hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:12]}"


def prepared(folder: Path, models_dir: Path) -> Path:
    """The adapter as llama.cpp loads it, written among the weights the first time. Raises as `to_gguf`."""
    out = models_dir / "adapters" / f"{release(folder)}.gguf"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        to_gguf(folder, out)
    return out


def as_gguf(adapter: Path) -> Path:
    """The file of an adapter that is a file or a folder. A folder's is written to where temporary files go,
    since in a container that alone can be written to. Raises as `to_gguf`."""
    return prepared(adapter, Path(tempfile.gettempdir())) if adapter.is_dir() else adapter


def to_gguf(folder: Path, out: Path) -> None:
    """Write the adapter in `folder` to `out` in half precision, whole or not at all.

    Raises:
        EngineMisconfigured: no adapter, or one of layers that are neither Qwen2's nor Llama's.
    """
    try:
        config = json.loads((folder / CONFIG).read_text())
        card = json.loads((folder / CARD).read_text()) if (folder / CARD).exists() else {}
        kind = card.get("architecture", "qwen2")
        tensors = [(_named(name), array) for name, array in read(folder / WEIGHTS).items()]
        if kind == "llama":
            tensors = [(name, _turned(name, array, *card["heads"])) for name, array in tensors]
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineMisconfigured(f"No adapter can be read in {folder}: {error!r:.100}", hint=_HINT) from None
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.part")
    unfinished.write_bytes(_document(tensors, float(config["lora_alpha"]), kind))
    unfinished.rename(out)


def read(file: Path) -> dict[str, Array]:
    """Name -> array of a safetensors file; bfloat16 as float32.

    Raises:
        OSError, ValueError, struct.error: it is not there, or not such a file.
    """
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    head, body = json.loads(data[8 : 8 + size]), memoryview(data)[8 + size :]
    found = {}
    for name, told in head.items():
        if name != "__metadata__":
            begin, end = told["data_offsets"]
            found[name] = _array(body[begin:end], told["dtype"]).reshape(told["shape"])
    return found


def _array(body: memoryview, kind: str) -> Array:
    if kind == "BF16":  # the upper half of a float32
        return (np.frombuffer(body, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(body, {"F32": np.float32, "F16": np.float16}[kind])


def _named(name: str) -> str:
    told = _NAME.fullmatch(name)
    if told is None or told[2] not in _LAYERS:
        raise ValueError(f"{name} is no layer of Qwen2 or Llama")
    return f"blk.{told[1]}.{_LAYERS[told[2]]}.weight.lora_{told[3].lower()}"


def _turned(name: str, array: Array, heads: int, kv_heads: int) -> Array:
    """llama.cpp turns neighbouring pairs of a head's rows where transformers turns its halves, so that a
    Llama's queries and keys are kept in another order of rows, and what an adapter adds to them too."""
    count = {"attn_q": heads, "attn_k": kv_heads}.get(name.split(".")[2])
    if count is None or not name.endswith(".lora_b"):
        return array
    rows, rank = array.shape
    return array.reshape(count, 2, rows // count // 2, rank).swapaxes(1, 2).reshape(rows, rank)


def _document(tensors: list[tuple[str, Array]], alpha: float, kind: str) -> bytes:
    pairs = [
        _text("general.architecture") + struct.pack("<I", _STRING) + _text(kind),
        _text("general.type") + struct.pack("<I", _STRING) + _text("adapter"),
        _text("adapter.type") + struct.pack("<I", _STRING) + _text("lora"),
        _text("adapter.lora.alpha") + struct.pack("<If", _FLOAT32, alpha),
    ]
    infos, bodies, at = [], [], 0
    for name, array in tensors:
        body = array.astype(np.float16).tobytes()
        dims = struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        infos.append(_text(name) + dims + struct.pack("<IQ", _F16, at))
        bodies.append(body + bytes(-len(body) % _ALIGNED))
        at += len(bodies[-1])
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)) + b"".join([*pairs, *infos])
    return head + bytes(-len(head) % _ALIGNED) + b"".join(bodies)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()
