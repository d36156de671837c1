"""Where transformers' names of Whisper's linear layers lie in CTranslate2's weights.

CTranslate2 keeps what is multiplied with the same input as one tensor, rows one below the other: queries,
keys and values of self-attention, keys and values of the attention to the recording.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Part(NamedTuple):
    """A linear layer: the tensor that it lies in, without `/weight`, and which block of its rows it is, of
    how many equally high ones."""

    tensor: str
    block: int
    blocks: int


# By the end of its name: where it lies in its layer, its block and of how many.
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
    """Of `encoder.layers.0.self_attn.q_proj`, `decoder.layers.3.encoder_attn.k_proj`, `encoder.layers.2.fc1`.

    Raises:
        ValueError: no linear layer of Whisper.
    """
    named = _NAME.fullmatch(layer)
    if named is None or named[3] not in _LAYERS:
        raise ValueError(f"{layer!r} is no linear layer of Whisper")
    tensor, block, blocks = _LAYERS[named[3]]
    return Part(f"{named[1]}/layer_{named[2]}/{tensor}", block, blocks)
