"""CTranslate2's `model.bin`: named tensors, one after the other, and names that stand for another's.

CTranslate2 reads this file and offers no way to read or write a tensor of it from Python; the layout is that
of its `Model::load` (binary version 6). Numbers are little-endian, a text is its length with the zero behind
it (16 bits), then its bytes:

    version (32 bits), name of the specification (text), its revision (32), number of tensors (32), then each
      name (text), rank (8), that many sizes (32 each), kind of number (8), bytes (32), the numbers
    number of other names (32), then each: other name (text), name of the tensor (text)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

_VERSION = 6
# CTranslate2's kinds of numbers, by their place in its `DataType`; bfloat16 has none in numpy.
_KINDS = tuple(np.dtype(kind) for kind in ("<f4", "i1", "<i2", "<i4", "<f2"))


@dataclass(frozen=True, slots=True)
class Weights:
    """All of a `model.bin`. `tensors` keep the file's order; `others`: other name -> name of a tensor."""

    specification: str
    revision: int
    tensors: dict[str, npt.NDArray[Any]]
    others: dict[str, str]


def read(file: Path) -> Weights:
    """Raises ValueError where the file is cut off, or of a version or kind of number that is not known."""
    with file.open("rb") as source:
        if (version := _number(source, "<I")) != _VERSION:
            raise ValueError(f"{file.name} is of version {version}; {_VERSION} is known")
        specification, revision = _text(source), _number(source, "<I")
        tensors = dict(_tensor(source) for _ in range(_number(source, "<I")))
        others = dict((_text(source), _text(source)) for _ in range(_number(source, "<I")))
    return Weights(specification, revision, tensors, others)


def write(weights: Weights, file: Path) -> None:
    """What `read` gives back as it is."""
    with file.open("wb") as out:
        out.write(struct.pack("<I", _VERSION) + _packed(weights.specification))
        out.write(struct.pack("<II", weights.revision, len(weights.tensors)))
        for name, tensor in weights.tensors.items():
            out.write(_packed(name) + struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape))
            out.write(struct.pack("<BI", _KINDS.index(tensor.dtype), tensor.nbytes) + tensor.tobytes())
        out.write(struct.pack("<I", len(weights.others)))
        for other, name in weights.others.items():
            out.write(_packed(other) + _packed(name))


def _tensor(source: BinaryIO) -> tuple[str, npt.NDArray[Any]]:
    name = _text(source)
    rank = _number(source, "<B")
    shape = [_number(source, "<I") for _ in range(rank)]
    kind = _number(source, "<B")
    if kind >= len(_KINDS):
        raise ValueError(f"{name} is of a kind of number that is not known ({kind})")
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
        raise ValueError("it ends too early")
    return data
