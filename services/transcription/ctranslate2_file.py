"""Read and write CTranslate2's `model.bin`: named tensors, and aliases of their names.

CTranslate2 has no Python API for its tensors; the layout is that of its `Model::load` (binary version 6).
Numbers are little-endian; a text is its length including the final zero (16 bits), then its bytes:

    version (32 bits), name of the specification (text), its revision (32), number of tensors (32), then each
      name (text), rank (8), sizes (32 each), data type (8), bytes (32), the numbers
    number of aliases (32), then each: alias (text), name of the tensor (text)
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

_VERSION = 6
# CTranslate2's data types in the order of its `DataType`; numpy has no bfloat16.
_KINDS = tuple(np.dtype(kind) for kind in ("<f4", "i1", "<i2", "<i4", "<f2"))


@dataclass(frozen=True, slots=True)
class Weights:
    """The content of a `model.bin`. `tensors` keep the file's order; `aliases` map to names of tensors."""

    specification: str
    revision: int
    tensors: dict[str, npt.NDArray[Any]]
    aliases: dict[str, str]


def read(file: Path) -> Weights:
    """Read a file; raises ValueError if it is truncated, or its version or a data type is unknown."""
    with file.open("rb") as source:
        if (version := _number(source, "<I")) != _VERSION:
            raise ValueError(f"{file.name} has version {version}, not {_VERSION}")
        specification, revision = _text(source), _number(source, "<I")
        tensors = dict(_tensor(source) for _ in range(_number(source, "<I")))
        aliases = dict((_text(source), _text(source)) for _ in range(_number(source, "<I")))
    return Weights(specification, revision, tensors, aliases)


def write(weights: Weights, file: Path) -> None:
    """Write `weights` to `file`."""
    with file.open("wb") as out:
        out.write(struct.pack("<I", _VERSION) + _packed(weights.specification))
        out.write(struct.pack("<II", weights.revision, len(weights.tensors)))
        for name, tensor in weights.tensors.items():
            out.write(_packed(name) + struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape))
            out.write(struct.pack("<BI", _KINDS.index(tensor.dtype), tensor.nbytes) + tensor.tobytes())
        out.write(struct.pack("<I", len(weights.aliases)))
        for alias, name in weights.aliases.items():
            out.write(_packed(alias) + _packed(name))


def _tensor(source: BinaryIO) -> tuple[str, npt.NDArray[Any]]:
    name = _text(source)
    rank = _number(source, "<B")
    shape = [_number(source, "<I") for _ in range(rank)]
    kind = _number(source, "<B")
    if kind >= len(_KINDS):
        raise ValueError(f"{name} has an unknown data type ({kind})")
    data = _bytes(source, _number(source, "<I"))
    return name, np.frombuffer(data, _KINDS[kind]).reshape(shape)


def _number(source: BinaryIO, kind: str) -> int:
    value: int = struct.unpack(kind, _bytes(source, struct.calcsize(kind)))[0]
    return value


def _text(source: BinaryIO) -> str:
    return _bytes(source, _number(source, "<H"))[:-1].decode()


def _packed(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def _bytes(source: BinaryIO, count: int) -> bytes:
    data = source.read(count)
    if len(data) != count:
        raise ValueError("unexpected end of file")
    return data


class Part(NamedTuple):
    """A linear layer of Whisper: its tensor, without `/weight`, and its block of the tensor's `blocks`.

    CTranslate2 stacks layers with the same input, such as queries, keys and values, in one tensor."""

    tensor: str
    block: int
    blocks: int


# By the end of a layer's name: its tensor, its block and the number of blocks.
_LAYERS = {
    "self_attn.q_proj": ("self_attention/linear_0", 0, 3),
    "self_attn.k_proj": ("self_attention/linear_0", 1, 3),
    "self_attn.v_proj": ("self_attention/linear_0", 2, 3),
    "self_attn.out_proj": ("self_attention/linear_1", 0, 1),
    "encoder_attn.q_proj": ("attention/linear_0", 0, 1),
    "encoder_attn.k_proj": ("attention/linear_1", 0, 2),
    "encoder_attn.v_proj": ("attention/linear_1", 1, 2),
    "encoder_attn.out_proj": ("attention/linear_2", 0, 1),
    "fc1": ("ffn/linear_0", 0, 1),
    "fc2": ("ffn/linear_1", 0, 1),
}
_LAYER = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(.+)")


def part_of(layer: str) -> Part:
    """Return the part of a layer such as `decoder.layers.3.encoder_attn.k_proj` or `encoder.layers.2.fc1`.

    Raises:
        ValueError: not a linear layer of Whisper.
    """
    parsed = _LAYER.fullmatch(layer)
    if parsed is None or parsed[3] not in _LAYERS:
        raise ValueError(f"{layer!r} is not a linear layer of Whisper")
    tensor, block, blocks = _LAYERS[parsed[3]]
    return Part(f"{parsed[1]}/layer_{parsed[2]}/{tensor}", block, blocks)
