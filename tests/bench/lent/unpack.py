"""A GGUF that is still arriving -> the folder of safetensors that vLLM and training load. Runs as a file.

    python unpack.py MODEL.gguf CONFIG FOLDER MARKS PIECE

`MARKS/N` says that piece number N, of PIECE bytes, is in MODEL.gguf, which has its whole size from the start
(`truncate -s`). Each tensor is unpacked to bfloat16 once its bytes are there, on all cores: on 16 the 84 s of
carrying 1.1 GB hid it all, where transformers takes 90 s by itself. CONFIG has `config.json` and the
tokenizer (`infra/weights/safetensors.py` writes them). For Qwen2's names of layers alone. Needs numpy and
gguf; what it made of the 0.5B was equal bit by bit to what transformers makes.
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

AT_ONCE = 6_000_000  # values of one task
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
    """Some rows of a tensor (none of a vector), the pieces that they lie in, and where they are to go."""

    gguf: Path
    marks: Path
    tensor: int
    rows: tuple[int, int] | None
    pieces: range
    file: Path
    offset: int


def name(tensor: str) -> str:
    """llama.cpp's name of a tensor as transformers has it."""
    if tensor in WHOLE:
        return WHOLE[tensor]
    _, layer, part, end = tensor.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{end}"


@cache
def tensors(gguf: Path) -> Any:
    from gguf import GGUFReader

    return GGUFReader(gguf).tensors


def bfloat16(values: Any) -> Any:
    """Rounded to the nearest, to even where two are as near; as the bits."""
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
    """All of a GGUF in the order in which it arrives; writes the head of `file`, and makes it as long as it
    will be."""
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
    while not (marks / "0").exists():  # it has the head
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
