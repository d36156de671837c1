"""Attention over packed orders without a mask: what each token may see, as ranges that flash attention takes.

A sequence is a menu and its orders (`pack.py`); an order sees the menu and itself. Under a mask over all
pairs most of the work is for pairs that do not see each other, and on a GPU no fast kernel takes such a mask.
Here each piece attends to itself, each sequence's orders attend to its menu, and the two are put together by
their log-sum-exp, forward and backward, as blockwise (ring) attention does. For CUDA alone; `fit.py` asks at
its start whether both ways come to the same loss and gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

NAME = "packed_orders"


@dataclass(frozen=True, slots=True)
class Ranges:
    """Where some stretches of tokens begin and end, int32 of shape (n + 1,), and how long the longest is."""

    ends: torch.Tensor
    longest: int

    @classmethod
    def of(cls, lengths: npt.NDArray[Any], device: str) -> Ranges:
        ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
        return cls(torch.from_numpy(ends).to(device), int(lengths.max()))


@dataclass(frozen=True, slots=True)
class Layout:
    """Of the tokens of a step: its pieces (menus and orders), which tokens are of menus and which of orders
    (int64, ascending), and how many of each a sequence has."""

    pieces: Ranges
    menus: torch.Tensor
    asking: torch.Tensor
    menu_of: Ranges
    asking_of: Ranges

    @classmethod
    def of(cls, orders: npt.NDArray[Any], lengths: npt.NDArray[Any], device: str) -> Layout:
        """`orders`: the order of each token, 0 for a menu's; `lengths`: of the sequences, which each begin
        with their menu and hold an order at least."""
        of = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.flatnonzero(np.diff(orders, prepend=-1) | np.diff(of, prepend=-1))
        menus = np.bincount(of[orders == 0], minlength=len(lengths))
        return cls(
            pieces=Ranges.of(np.diff(np.append(starts, len(orders))), device),
            menus=torch.from_numpy(np.flatnonzero(orders == 0)).to(device),
            asking=torch.from_numpy(np.flatnonzero(orders != 0)).to(device),
            menu_of=Ranges.of(menus, device),
            asking_of=Ranges.of(lengths - menus, device),
        )


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    of: Ranges,
    to: Ranges,
    causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """What each query's stretch gathers from the key's stretch of the same number, shape (tokens, heads,
    size), and its log-sum-exp, shape (heads, tokens)."""
    import torch.nn.attention.varlen  # registers the two calls

    out, lse, _ = torch.ops.torch_attn._varlen_attn(
        query, key, value, of.ends, to.ends, of.longest, to.longest, causal, scale, _window(causal)
    )
    return out, lse


def attend_back(
    grad: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor,
    lse: torch.Tensor, of: Ranges, to: Ranges, causal: bool, scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """Gradients of `attend`, where `out` and `lse` may be of more keys than these."""
    drawn = torch.zeros(2, dtype=torch.uint64, device=query.device)  # nothing is dropped out
    back = torch.ops.torch_attn._varlen_attn_backward(
        grad.contiguous(), query, key, value, out, lse.contiguous(), of.ends, to.ends, of.longest, to.longest,
        causal, drawn, scale, _window(causal),
    )  # fmt: skip
    return back[0], back[1], back[2]


def _window(causal: bool) -> list[int]:
    return [-1, 0] if causal else [-1, -1]


class _Packed(torch.autograd.Function):  # type: ignore[misc]  # torch is not in this environment
    """(tokens, heads, size) -> the same: each token over its own piece so far and, in an order, its menu."""

    @staticmethod
    def forward(
        ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: Layout, scale: float
    ) -> torch.Tensor:
        own, own_lse = attend(query, key, value, layout.pieces, layout.pieces, True, scale)
        at, menus = layout.asking, layout.menus
        far, far_lse = attend(
            query[at], key[menus], value[menus], layout.asking_of, layout.menu_of, False, scale
        )
        lse = torch.logaddexp(own_lse[:, at], far_lse)
        shares = ((one - lse).exp().T[:, :, None] for one in (own_lse[:, at], far_lse))
        both = sum(share * one.float() for share, one in zip(shares, (own[at], far), strict=True))
        out = own.index_copy(0, at, both.to(own.dtype))
        ctx.save_for_backward(query, key, value, out, own_lse.index_copy(1, at, lse))
        ctx.layout, ctx.scale = layout, scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, out, lse = ctx.saved_tensors
        layout, (grad,) = ctx.layout, grads
        at, menus = layout.asking, layout.menus
        found = attend_back(grad, query, key, value, out, lse, layout.pieces, layout.pieces, True, ctx.scale)
        far = attend_back(
            grad[at], query[at], key[menus], value[menus], out[at], lse[:, at], layout.asking_of,
            layout.menu_of, False, ctx.scale,
        )  # fmt: skip
        where = (at, menus, menus)
        sums = (a.index_copy(0, i, a[i] + b) for a, b, i in zip(found, far, where, strict=True))
        return (*sums, None, None)


def packed(
    _module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: None, *, scaling: float,
    layout: Layout, **_: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """As transformers calls an attention: (1, heads, tokens, size) -> (1, tokens, heads, size)."""
    tall = (one[0].transpose(0, 1).contiguous().bfloat16() for one in (query, key, value))
    return _Packed.apply(*tall, layout, scaling)[None], None


def register() -> None:
    """Make it known to transformers by NAME."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, packed)
