"""Random weights for a configuration, as safetensors. Runs in vLLM's environment, which has torch.

    VLLM/bin/python tests/bench/masks/random_model.py FOLDER --seed 1

FOLDER holds config.json. Normal, as at the start of a training, but for the output layer: its logits have a
standard deviation of 3, so that this model strongly wants tokens (nearly always ones outside the mask), and
penalties have something to work on. vLLM's own `--load-format dummy` gives logits near 0, which are uniform.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

LOGIT_STD = 3.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    config = AutoConfig.from_pretrained(args.folder)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    with torch.no_grad():
        # The last norm leaves a root mean square of 1 in each of `hidden_size` places.
        model.lm_head.weight.normal_(0.0, LOGIT_STD / config.hidden_size**0.5)
        model.get_input_embeddings().weight.normal_(0.0, 1.0)
    model.save_pretrained(args.folder)


if __name__ == "__main__":
    main()
