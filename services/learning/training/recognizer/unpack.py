"""Convert CTranslate2's Whisper for transformers, to train an adapter on the weights that it is served with.

    python -m services.learning.training.recognizer.unpack MODEL FOLDER

MODEL is a folder of the model lock (`saycart models fetch faster-whisper-base`). FOLDER gets `config.json`
and `model.safetensors` in half precision. Needs safetensors.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from services.transcription import ctranslate2_file
from services.transcription.ctranslate2_file import part_of

ATTENTION = ("q_proj", "k_proj", "v_proj", "out_proj")
NORMS = {
    "self_attn_layer_norm": "self_attention/layer_norm",
    "encoder_attn_layer_norm": "attention/layer_norm",
    "final_layer_norm": "ffn/layer_norm",
}
Array = npt.NDArray[Any]
Tensors = dict[str, Array]


def config(tensors: Tensors, layers: dict[str, int]) -> dict[str, Any]:
    """Return the model's configuration for transformers."""
    vocabulary, width = tensors["decoder/embeddings/weight"].shape
    multilingual = vocabulary > 51864
    end = 50257 if multilingual else 50256
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "vocab_size": vocabulary,
        "d_model": width,
        "num_mel_bins": tensors["encoder/conv1/weight"].shape[1],
        "encoder_layers": layers["encoder"],
        "decoder_layers": layers["decoder"],
        "encoder_attention_heads": int(tensors["encoder/num_heads"]),
        "decoder_attention_heads": int(tensors["decoder/num_heads"]),
        "encoder_ffn_dim": 4 * width,
        "decoder_ffn_dim": 4 * width,
        "max_source_positions": tensors["encoder/position_encodings/encodings"].shape[0],
        "max_target_positions": tensors["decoder/position_encodings/encodings"].shape[0],
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "decoder_start_token_id": end + 1,
    }


def linears(side: str, number: int) -> list[str]:
    layer = f"{side}.layers.{number}"
    attentions = ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",)
    return [*(f"{layer}.{a}.{p}" for a in attentions for p in ATTENTION), f"{layer}.fc1", f"{layer}.fc2"]


def count_layers(side: str, tensors: Tensors) -> int:
    numbers = {name.split("/")[1] for name in tensors if name.startswith(f"{side}/layer_")}
    return len(numbers - {"layer_norm"})


def norms(side: str, count: int, tensors: Tensors) -> Iterator[tuple[str, Array]]:
    """Yield the layer norms of all blocks, and the final one."""
    for source, target in (("gamma", "weight"), ("beta", "bias")):
        yield f"model.{side}.layer_norm.{target}", tensors[f"{side}/layer_norm/{source}"]
        for number, (theirs, ours) in product(range(count), NORMS.items()):
            if (name := f"{side}/layer_{number}/{ours}/{source}") in tensors:
                yield f"model.{side}.layers.{number}.{theirs}.{target}", tensors[name]


def blocks(side: str, count: int, tensors: Tensors) -> Iterator[tuple[str, Array]]:
    """Yield the linear layers, split where CTranslate2 fuses them. Keys have no bias (zeros in a fused
    one)."""
    for number in range(count):
        for layer, kind in product(linears(side, number), ("weight", "bias")):
            if kind == "weight" or not layer.endswith("k_proj"):
                part = part_of(layer)
                yield (
                    f"model.{layer}.{kind}",
                    np.split(tensors[f"{part.tensor}/{kind}"], part.blocks)[part.block],
                )


def unpacked(tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Return configuration and weights under transformers' names."""
    layers = {side: count_layers(side, tensors) for side in ("encoder", "decoder")}
    weights: Tensors = {"model.decoder.embed_tokens.weight": tensors["decoder/embeddings/weight"]}
    for conv, kind in product(("conv1", "conv2"), ("weight", "bias")):
        weights[f"model.encoder.{conv}.{kind}"] = tensors[f"encoder/{conv}/{kind}"]
    for side, count in layers.items():
        weights[f"model.{side}.embed_positions.weight"] = tensors[f"{side}/position_encodings/encodings"]
        weights.update(norms(side, count, tensors))
        weights.update(blocks(side, count, tensors))
    return config(tensors, layers), {name: np.ascontiguousarray(value) for name, value in weights.items()}


def main(argv: list[str] | None = None) -> int:
    from safetensors.numpy import save_file

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args(argv)
    settings, weights = unpacked(ctranslate2_file.read(args.model / "model.bin").tensors)
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "config.json").write_text(json.dumps(settings, indent=1) + "\n")
    save_file(weights, args.folder / "model.safetensors", {"format": "pt"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
