"""Turn packed orders into the tensors of one training step; for the scripts in this folder.

Each order attends to its menu and itself. Dense attention needs an n x n mask, quadratic in the tokens of a
step; FlexAttention (CUDA) skips blocks that are fully masked, about three quarters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[Any]
PADDING = -1  # the sequence number of padding


@dataclass(frozen=True, slots=True)
class Packed:
    """The flat arrays that `pack.py` writes."""

    tokens: Array
    orders: Array
    learned: Array
    ends: Array

    def steps(self, max_tokens: int) -> list[slice]:
        """Group consecutive sequences into steps of at most `max_tokens`, but at least one sequence."""
        groups, first = list[slice](), 0
        starts = [0, *self.ends[:-1].tolist()]
        for number, end in enumerate(self.ends.tolist()):
            if number > first and end - starts[first] > max_tokens:
                groups.append(slice(first, number))
                first = number
        return [*groups, slice(first, len(self.ends))] if len(self.ends) else []


@dataclass(frozen=True, slots=True)
class Batch:
    """One step. `tokens` and `positions` have shape (1, n); `mask` is bool, of shape (1, 1, n, n), or
    FlexAttention's. The model learns to predict the token after each index in `predicting`."""

    tokens: torch.Tensor
    positions: torch.Tensor
    mask: Any
    predicting: torch.Tensor


class Batches:
    """Build batches. With `width`, each is padded to that many tokens and masked for FlexAttention, so that a
    compiled model always gets the same shape."""

    def __init__(self, packed: Packed, device: str, width: int = 0) -> None:
        self._packed, self._device, self._width = packed, device, width
        if width:
            self._order = torch.zeros(width, dtype=torch.int64, device=device)
            self._sequence = torch.zeros(width, dtype=torch.int64, device=device)
            self._mask_mod = _mask_mod(self._order, self._sequence)

    def of(self, step: slice) -> Batch:
        packed = self._packed
        ends = np.append(0, packed.ends)[step.start : step.stop + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        lengths = np.diff(ends)
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        order = packed.orders[part].astype(np.int64)
        tokens = packed.tokens[part].astype(np.int64)
        places = positions(order, sequence)
        predicting = np.flatnonzero(packed.learned[part][1:])
        if self._width:
            padding = (0, self._width - len(tokens))
            tokens, order, places = (np.pad(values, padding) for values in (tokens, order, places))
            sequence = np.pad(sequence, padding, constant_values=PADDING)
        return Batch(
            self._tensor(tokens)[None],
            self._tensor(places)[None],
            self._mask(self._tensor(order), self._tensor(sequence)),
            self._tensor(predicting),
        )

    def _tensor(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device)

    def _mask(self, order: torch.Tensor, sequence: torch.Tensor) -> Any:
        if not self._width:
            n = len(order)
            causal = torch.ones(n, n, dtype=torch.bool, device=order.device).tril()
            mask = causal & ((order[:, None] == order[None, :]) | (order[None, :] == 0))
            return (mask & (sequence[:, None] == sequence[None, :]))[None, None]
        from torch.nn.attention.flex_attention import create_block_mask

        self._order.copy_(order)
        self._sequence.copy_(sequence)
        return create_block_mask(self._mask_mod, 1, None, self._width, self._width, device=order.device)


def _mask_mod(order: torch.Tensor, sequence: torch.Tensor) -> Any:
    """Return FlexAttention's mask function over two tensors that are overwritten at each step: a compiled
    model is not compiled again while the function stays the same."""

    def attends(b: Any, h: Any, q: Any, k: Any) -> Any:  # noqa: ARG001 - as FlexAttention calls it
        own = (order[q] == order[k]) | (order[k] == 0)
        return (q >= k) & (sequence[q] == sequence[k]) & own

    return attends


def positions(order: Array, sequence: Array) -> Array:
    """Return the position of each token: a sequence starts at 0, and each of its orders right after the
    menu."""
    menus = np.bincount(sequence[order == 0], minlength=int(sequence.max()) + 1)
    starts = np.flatnonzero(np.diff(order, prepend=-1) | np.diff(sequence, prepend=-1))
    first = np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.arange(len(order)) - first + np.where(order > 0, menus[sequence], 0)
