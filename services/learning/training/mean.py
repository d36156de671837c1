"""Average two adapters of the same base and rank into one adapter of that rank.

    python -m services.learning.training.mean ADAPTER ADAPTER OUT

An adapter that is trained further learns new orders and forgets some of the old ones; the mean keeps most of
both. An adapter adds the product B A to a weight, so the products are averaged, and the mean is truncated to
the rank by its singular values (Eckart-Young). Runs in the environment of `fit`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "trained.json"
SAME = ("r", "lora_alpha")  # a product is scaled by alpha / rank
DOWN, UP = "lora_A", "lora_B"
Pair = tuple[torch.Tensor, torch.Tensor]
"""A (rank, inputs) and B (outputs, rank) of one weight."""


def mean(one: Pair, other: Pair) -> Pair:
    """Return the pair of the same rank whose product is nearest to the mean of the two products."""
    (down, up), (other_down, other_up) = one, other
    # QR avoids computing the full products, 1,536 by 8,960 here.
    up_basis, up_rest = torch.linalg.qr(torch.cat([up, other_up], 1).float() / 2)
    down_basis, down_rest = torch.linalg.qr(torch.cat([down, other_down], 0).float().T)
    left, values, right = torch.linalg.svd(up_rest @ down_rest.T)
    rank = down.shape[0]
    root = values[:rank].sqrt()
    return (root[:, None] * right[:rank]) @ down_basis.T, up_basis @ (left[:, :rank] * root)


def main() -> None:
    parser = argparse.ArgumentParser(prog="mean")
    for name in ("one", "other", "out"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    configs = [json.loads((folder / CONFIG).read_text()) for folder in (args.one, args.other)]
    if different := [name for name in SAME if configs[0][name] != configs[1][name]]:
        parser.error(f"the adapters differ in {', '.join(different)}")
    one, other = (load_file(folder / WEIGHTS) for folder in (args.one, args.other))
    averaged: dict[str, torch.Tensor] = {}
    for down in (name for name in one if DOWN in name):
        up = down.replace(DOWN, UP)
        pair = mean((one[down], one[up]), (other[down], other[up]))
        averaged |= {name: each.bfloat16().contiguous() for name, each in zip((down, up), pair, strict=True)}
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(averaged, args.out / WEIGHTS, metadata={"format": "pt"})
    shutil.copy(args.one / CONFIG, args.out / CONFIG)
    cards = [json.loads((folder / CARD).read_text()) for folder in (args.one, args.other)]
    card = {name: cards[0][name] for name in ("base", "form", "architecture", "heads", "rank")}
    (args.out / CARD).write_text(json.dumps(card | {"mean_of": cards}, indent=1))


if __name__ == "__main__":
    main()
