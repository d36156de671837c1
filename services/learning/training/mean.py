"""The mean of two adapters of the same base and rank, as one adapter of that rank.

    python -m services.learning.training.mean ADAPTER ADAPTER OUT

A reader that was trained on learns new orders and forgets some of the old; the mean has most of both. What an
adapter adds to a weight is its product B A, so the mean is that of the products, cut to the rank by its
singular values (Eckart and Young). Needs the environment of `fit`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "trained.json"
SAME = ("r", "lora_alpha")  # the scale of a product is alpha by rank
DOWN, UP = "lora_A", "lora_B"
Pair = tuple[torch.Tensor, torch.Tensor]
"""A (rank, inputs) and B (outputs, rank) of one weight."""


def mean(one: Pair, other: Pair) -> Pair:
    """Return the pair of the same rank whose product is nearest to the mean of the two products."""
    (down, up), (other_down, other_up) = one, other
    # Products of two thin matrices are decomposed without writing them out: 1,536 by 8,960 here.
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
    if differ := [name for name in SAME if configs[0][name] != configs[1][name]]:
        parser.error(f"the adapters differ in {', '.join(differ)}")
    one, other = (load_file(folder / WEIGHTS) for folder in (args.one, args.other))
    found: dict[str, torch.Tensor] = {}
    for down in (name for name in one if DOWN in name):
        up = down.replace(DOWN, UP)
        pair = mean((one[down], one[up]), (other[down], other[up]))
        found |= {name: each.bfloat16().contiguous() for name, each in zip((down, up), pair, strict=True)}
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(found, args.out / WEIGHTS, metadata={"format": "pt"})
    shutil.copy(args.one / CONFIG, args.out / CONFIG)
    cards = [json.loads((folder / CARD).read_text()) for folder in (args.one, args.other)]
    card = {name: cards[0][name] for name in ("base", "form", "architecture", "heads", "rank")}
    (args.out / CARD).write_text(json.dumps(card | {"mean_of": cards}, indent=1))


if __name__ == "__main__":
    main()
