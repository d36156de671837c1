"""Convert a GGUF to safetensors for vLLM and training while it is still arriving. Runs as a script.

    python unpack.py MODEL.gguf CONFIG FOLDER MARKS PIECE

The file `MARKS/N` means that piece N, of PIECE bytes, is in MODEL.gguf, which has its full size from the
start (`truncate -s`). Each tensor is converted to bfloat16 once its bytes have arrived, on all cores: with 16
cores this took no time beyond the 84 s of transfer of 1.1 GB, where transformers takes 90 s. CONFIG has
`config.json` and the tokenizer. Only for Qwen2's layer names. Needs numpy and gguf; for the 0.5B, the result
was bit for bit that of transformers.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

AT_ONCE = 6_000_000  # values per task
NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "model.norm.weight",
}


@dataclass(frozen=True, slots=True)
class Task:
    """Rows of a tensor (None for a vector), the pieces that hold them, and their destination."""

    gguf: Path
    marks: Path
    tensor: int
    rows: tuple[int, int] | None
    pieces: range
    file: Path
    offset: int


def name(tensor: str) -> str:
    """Translate a tensor's name from llama.cpp to transformers."""
    if tensor in WHOLE:
        return WHOLE[tensor]
    _, layer, part, end = tensor.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{end}"


@cache
def tensors(gguf: Path) -> Any:
    from gguf import GGUFReader

    return GGUFReader(gguf).tensors


def bfloat16(values: Any) -> Any:
    """Round to the nearest bfloat16, ties to even; return its bits."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def unpack(task: Task) -> None:
    from gguf.quants import dequantize

    while not all((task.marks / str(piece)).exists() for piece in task.pieces):
        time.sleep(0.2)
    tensor = tensors(task.gguf)[task.tensor]
    data = tensor.data if task.rows is None else tensor.data[slice(*task.rows)]
    values = bfloat16(dequantize(data, tensor.tensor_type)).reshape(-1)
    np.memmap(task.file, np.uint16, "r+", offset=task.offset, shape=values.shape)[:] = values


def tasks(gguf: Path, marks: Path, piece: int, file: Path) -> list[Task]:
    """Return the tasks of a GGUF in order of arrival; write the header of `file`, at its full size."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    starts, at = list[int](), 0
    for tensor in tensors(gguf):
        shape = [int(n) for n in reversed(tensor.shape)]
        size = 2 * int(np.prod(shape))
        head[name(tensor.name)] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        starts.append(at)
        at += size
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        out.truncate(8 + len(text) + at)
    found = list[tuple[int, Task]]()
    for number, tensor in enumerate(tensors(gguf)):
        start, width = int(tensor.data_offset), int(tensor.shape[0])
        count = int(np.prod(tensor.shape)) // width
        each = int(tensor.n_bytes) // count
        step = max(1, AT_ONCE // width)
        for first in range(0, count, step):
            last = min(first + step, count)
            low, high = start + first * each, start + last * each
            rows = (first, last) if len(tensor.shape) > 1 else None
            pieces = range(low // piece, (high - 1) // piece + 1)
            to = 8 + len(text) + starts[number] + 2 * first * width
            found.append((low, Task(gguf, marks, number, rows, pieces, file, to)))
    return [task for _, task in sorted(found, key=lambda one: one[0])]


def main() -> int:
    gguf, config, folder, marks = map(Path, sys.argv[1:5])
    began = time.monotonic()
    while not (marks / "0").exists():  # has the header
        time.sleep(0.2)
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    with Pool(os.cpu_count()) as pool:
        for _ in pool.imap_unordered(
            unpack, tasks(gguf, marks, int(sys.argv[5]), part / "model.safetensors")
        ):
            pass
    for file in config.iterdir():
        shutil.copy(file, part)
    part.rename(folder)
    print(f"{folder} in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
