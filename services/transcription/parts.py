"""Map transformers' names of Whisper's linear layers to CTranslate2's tensors.

CTranslate2 stacks layers with the same input in one tensor: queries, keys and values of self-attention, keys
and values of cross-attention.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Part(NamedTuple):
    """A linear layer: its tensor, without `/weight`, and its block of rows, of `blocks` equal ones."""

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
_NAME = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(.+)")


def part_of(layer: str) -> Part:
    """Return the part of a layer such as `decoder.layers.3.encoder_attn.k_proj` or `encoder.layers.2.fc1`.

    Raises:
        ValueError: not a linear layer of Whisper.
    """
    parsed = _NAME.fullmatch(layer)
    if parsed is None or parsed[3] not in _LAYERS:
        raise ValueError(f"{layer!r} is not a linear layer of Whisper")
    tensor, block, blocks = _LAYERS[parsed[3]]
    return Part(f"{parsed[1]}/layer_{parsed[2]}/{tensor}", block, blocks)
