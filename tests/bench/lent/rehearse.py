"""Before the weights arrive: can this GPU train by FlexAttention and compiled layers? Runs as a file there.

    python rehearse.py TRAINING HOW.json PACKED.npz CONFIG...

Takes a step of the first model with random weights both ways, dense and by FlexAttention: losses must agree
within 1% and norms of gradients within 5%. HOW.json gets what `fit.py` is to be told. What was compiled, for
the other models too, is kept by torch, so the trainings that follow do not compile it again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

FLEX = ["--flex", "--step", "8192"]
DENSE = ["--step", "4096"]
TIMED = 10  # steps


def taken(training: Path, config: Path, packed: Path, words: list[str]) -> tuple[float, float, float]:
    """Loss and norm of the gradient of the first sequences, and tokens a second over the next steps."""
    from transformers import AutoConfig, AutoModelForCausalLM

    sys.path.insert(0, str(training))
    import adapted
    import batch
    import fit

    torch.manual_seed(0)
    torch.backends.cuda.enable_cudnn_sdp(False)
    step, flex = int(words[-1]), "--flex" in words
    known = batch.Packed(**np.load(packed))
    shape = AutoConfig.from_pretrained(config)
    attention = "flex_attention" if flex else "sdpa"
    with torch.device("cuda"):
        base = AutoModelForCausalLM.from_config(shape, dtype=torch.bfloat16, attn_implementation=attention)
    model = adapted.with_adapter(base, 16, "rehearsal")
    generator = torch.Generator().manual_seed(1)
    learned = [p for p in model.parameters() if p.requires_grad]
    for parameter in learned:
        parameter.data = (torch.randn(parameter.shape, generator=generator) * 0.02).cuda()
    if flex:
        fit.compiled(model)
    model.train()
    batches = batch.Batches(known, "cuda", step if flex else 0)
    first = known.steps(4096)[0]  # alike in both ways

    def once(part: slice) -> Any:
        model.zero_grad(set_to_none=True)
        loss = fit.loss_of(model, batches.of(part))
        loss.backward()
        return loss

    loss = float(once(first).detach())
    norm = float(torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in learned])))
    parts = known.steps(step)[: TIMED + 2]
    for part in parts[:2]:
        once(part)
    torch.cuda.synchronize()
    began = time.monotonic()
    for part in parts[2:]:
        once(part)
    torch.cuda.synchronize()
    count = int(known.ends[parts[-1].stop - 1] - known.ends[parts[1].stop - 1])
    return loss, norm, count / (time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(prog="rehearse")
    parser.add_argument("training", type=Path)
    parser.add_argument("how", type=Path)
    parser.add_argument("packed", type=Path)
    parser.add_argument("models", type=Path, nargs="+", help="folders with a config.json")
    args = parser.parse_args()
    began, how = time.monotonic(), DENSE

    def told(words: list[str], config: Path) -> tuple[float, float, float]:
        found = taken(args.training, config, args.packed, words)
        said = "loss {:.4f}, norm {:.4f}, {:.0f} tokens/s".format(*found)
        print(f"{time.monotonic() - began:.0f} s {config.name} {words}: {said}", flush=True)
        torch.cuda.empty_cache()
        return found

    try:
        loss, norm, speed = told(DENSE, args.models[0])
        other, another, faster = told(FLEX, args.models[0])
        if abs(other / loss - 1) < 0.01 and abs(another / norm - 1) < 0.05 and faster > speed:
            how = FLEX
    finally:
        args.how.write_text(json.dumps(how))
        print(f"{time.monotonic() - began:.0f} s: {how}", flush=True)
    for config in args.models[1:] if how is FLEX else ():
        told(FLEX, config)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
