"""Where transformers' names of Whisper's linear layers lie in CTranslate2's weights.

CTranslate2 keeps what is multiplied with the same input as one tensor, rows one below the other: queries,
keys and values of self-attention, keys and values of the attention to the recording.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A linear layer: the tensor that it lies in, without `/weight`, and which block of its rows it is, of
    how many equally high ones."""

    tensor: str
    block: int
    blocks: int


_SELF = {"q_proj": ("linear_0", 0, 3), "k_proj": ("linear_0", 1, 3), "v_proj": ("linear_0", 2, 3)}
_TO_SOUND = {"q_proj": ("linear_0", 0, 1), "k_proj": ("linear_1", 0, 2), "v_proj": ("linear_1", 1, 2)}
_OF = {
    "self_attn": ("self_attention", {**_SELF, "out_proj": ("linear_1", 0, 1)}),
    "encoder_attn": ("attention", {**_TO_SOUND, "out_proj": ("linear_2", 0, 1)}),
}


def part_of(layer: str) -> Part:
    """Of `encoder.layers.0.self_attn.q_proj`, `decoder.layers.3.encoder_attn.k_proj`, `encoder.layers.2.fc1`.

    Raises:
        ValueError: no linear layer of Whisper.
    """
    try:
        side, layers, number, *rest = layer.split(".")
        if side not in ("encoder", "decoder") or layers != "layers":
            raise KeyError(side)
        at = f"{side}/layer_{int(number)}"
        if rest in (["fc1"], ["fc2"]):
            return Part(f"{at}/ffn/linear_{int(rest[0][2]) - 1}", 0, 1)
        attention, projection = rest
        folder, linears = _OF[attention]
        linear, block, blocks = linears[projection]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{layer!r} is no linear layer of Whisper") from error
    return Part(f"{at}/{folder}/{linear}", block, blocks)
