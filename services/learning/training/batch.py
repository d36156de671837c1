"""Packed orders as the tensors of one training step. Imported by the scripts in this folder.

Each order of a sequence sees its menu and itself. Dense attention gets a mask of n x n, which costs the
square of a step's tokens; FlexAttention (CUDA) leaves out the blocks that are masked whole, some three
quarters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[Any]
PADDING = -1  # the sequence of tokens that only fill a step up


@dataclass(frozen=True, slots=True)
class Packed:
    """The flat arrays of `pack.py`."""

    tokens: Array
    orders: Array
    learned: Array
    ends: Array

    def steps(self, most: int) -> list[slice]:
        """Sequences of each step: those, one after the other, that come to at most `most` tokens, or one."""
        groups, first = list[slice](), 0
        starts = [0, *self.ends[:-1].tolist()]
        for number, end in enumerate(self.ends.tolist()):
            if number > first and end - starts[first] > most:
                groups.append(slice(first, number))
                first = number
        return [*groups, slice(first, len(self.ends))] if len(self.ends) else []


@dataclass(frozen=True, slots=True)
class Batch:
    """One step. `tokens` and `positions` have shape (1, n); `seen` is a mask of shape (1, 1, n, n), bool, or
    FlexAttention's; the token behind each index in `asked` is to be learned."""

    tokens: torch.Tensor
    positions: torch.Tensor
    seen: Any
    asked: torch.Tensor


class Batches:
    """Makes the batches of one training. With `width`, every batch is filled up to so many tokens and masked
    for FlexAttention, so that a compiled model sees one shape."""

    def __init__(self, packed: Packed, device: str, width: int = 0) -> None:
        self._packed, self._device, self._width = packed, device, width
        if width:
            self._order = torch.zeros(width, dtype=torch.int64, device=device)
            self._sequence = torch.zeros(width, dtype=torch.int64, device=device)
            self._sees = _sees(self._order, self._sequence)

    def of(self, step: slice) -> Batch:
        packed = self._packed
        ends = np.append(0, packed.ends)[step.start : step.stop + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        lengths = np.diff(ends)
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        order = packed.orders[part].astype(np.int64)
        tokens = packed.tokens[part].astype(np.int64)
        places = positions(order, sequence)
        asked = np.flatnonzero(packed.learned[part][1:])
        if self._width:
            room = (0, self._width - len(tokens))
            tokens, order, places = (np.pad(values, room) for values in (tokens, order, places))
            sequence = np.pad(sequence, room, constant_values=PADDING)
        return Batch(
            self._tensor(tokens)[None],
            self._tensor(places)[None],
            self._seen(self._tensor(order), self._tensor(sequence)),
            self._tensor(asked),
        )

    def _tensor(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device)

    def _seen(self, order: torch.Tensor, sequence: torch.Tensor) -> Any:
        if not self._width:
            n = len(order)
            earlier = torch.ones(n, n, dtype=torch.bool, device=order.device).tril()
            seen = earlier & ((order[:, None] == order[None, :]) | (order[None, :] == 0))
            return (seen & (sequence[:, None] == sequence[None, :]))[None, None]
        from torch.nn.attention.flex_attention import create_block_mask

        self._order.copy_(order)
        self._sequence.copy_(sequence)
        return create_block_mask(self._sees, 1, None, self._width, self._width, device=order.device)


def _sees(order: torch.Tensor, sequence: torch.Tensor) -> Any:
    """FlexAttention's mask function over two tensors that are filled for each step: as it stays the same one,
    a compiled model is not compiled again."""

    def sees(b: Any, h: Any, q: Any, k: Any) -> Any:  # noqa: ARG001 - as FlexAttention calls it
        own = (order[q] == order[k]) | (order[k] == 0)
        return (q >= k) & (sequence[q] == sequence[k]) & own

    return sees


def positions(order: Array, sequence: Array) -> Array:
    """Where each token stands, shape (n,): a sequence begins at 0, its orders each right behind its menu."""
    menus = np.bincount(sequence[order == 0], minlength=int(sequence.max()) + 1)
    starts = np.flatnonzero(np.diff(order, prepend=-1) | np.diff(sequence, prepend=-1))
    first = np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.arange(len(order)) - first + np.where(order > 0, menus[sequence], 0)
