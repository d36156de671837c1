"""Train a LoRA adapter on packed orders. Runs as a script, in any environment with torch and peft.

    python fit.py BASE PACKED.npz OUT [--device cuda] [--rank 16] [--rate 2e-4] [--flex]

BASE is a GGUF of the model lock, or that unpacked to bfloat16: the adapter is trained on the quantized
weights that it is served with. Only the carts count in the loss. Checkpoints are saved every few minutes, and
the same command resumes from the last one. With `--within` training ends in time: the learning rate decays by
elapsed time if that is ahead of the steps.

Cost: some minutes on an H100 (docs/training.md); 43 tokens/s of the 1.5B on two cores.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from adapted import base_model, start_from, with_adapter
from batch import Batch, Batches, Packed
from peft import get_peft_model_state_dict as adapter_of
from peft import set_peft_model_state_dict
from torch.nn.functional import cross_entropy

CHECKPOINT_S = 300.0


def loss_of(model: Any, batch: Batch) -> torch.Tensor:
    """Mean loss over the tokens of a step's carts."""
    inner = model.base_model.model
    hidden = inner.model(
        input_ids=batch.tokens, attention_mask=batch.mask, position_ids=batch.positions, use_cache=False
    ).last_hidden_state[0]
    logits = inner.lm_head(hidden[batch.predicting])
    return cross_entropy(logits.float(), batch.tokens[0][batch.predicting + 1])


def compile_layers(model: Any) -> None:
    """Compile each layer of `model` in place; all have the same shape and share the code."""
    for layer in model.base_model.model.model.layers:
        layer.compile(dynamic=False)


def rate_at(step: int, progress: float, peak: float) -> float:
    """Return the learning rate: 30 steps of warm-up, then a cosine decay to a twentieth of the peak."""
    warmup = min(1.0, (step + 1) / 30)
    return peak * warmup * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress)))


class Training:
    """A training run: the model, its optimizer and the progress."""

    def __init__(self, args: argparse.Namespace) -> None:
        torch.manual_seed(args.seed)
        # With custom masks, cuDNN's attention gave NaN on an H100 (torch 2.11) within 100 steps.
        torch.backends.cuda.enable_cudnn_sdp(False)
        self.args = args
        self.packed = Packed(**np.load(args.packed))
        self.parts = self.packed.steps(args.step)
        self.batches = Batches(self.packed, args.device, args.step if args.flex else 0)
        base = base_model(args.base, args.device, "flex_attention" if args.flex else "sdpa")
        self.model = with_adapter(base, args.rank, args.name or args.base.name)
        if args.start:
            start_from(self.model, args.start, args.rank)
        if args.flex:
            compile_layers(self.model)
        self.trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trainable, lr=args.rate, weight_decay=0.0)
        self.losses: list[torch.Tensor] = []
        self.done, self.elapsed = 0, 0.0
        self._checkpoint = args.out / "checkpoint.pt"

    def run(self) -> dict[str, Any]:
        """Train, save the adapter in OUT, and return its model card."""
        self.args.out.mkdir(parents=True, exist_ok=True)
        if self._checkpoint.exists():
            self._resume()
        started, saved = time.monotonic() - self.elapsed, time.monotonic()
        self.model.train()
        for step in range(self.done, len(self.parts)):
            progress = max(step / len(self.parts), (time.monotonic() - started) / self.args.within)
            if progress >= 1:
                break
            self._step(step, progress)
            self.elapsed = time.monotonic() - started
            if step % 25 == 24 or step == len(self.parts) - 1:
                self._report(step)
            if time.monotonic() - saved > CHECKPOINT_S:
                self._save()
                saved = time.monotonic()
        return self._finish()

    def _step(self, step: int, progress: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(step, progress, self.args.rate)
        loss = loss_of(self.model, self.batches.of(self.parts[step]))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.trainable, 1.0)
        if torch.isfinite(norm):
            self.optimizer.step()
        else:
            print(f"skipped step {step + 1}: the gradient is not finite", flush=True)
        self.losses.append(loss.detach())
        self.done = step + 1

    def _report(self, step: int) -> None:
        speed = int(self.packed.ends[self.parts[step].stop - 1]) / self.elapsed
        progress = f"{self.elapsed:.0f} s, step {step + 1} of {len(self.parts)}, {speed:.0f} tokens/s"
        print(f"{progress}, loss {_mean(self.losses[-50:]):.4f}", flush=True)

    def _resume(self) -> None:
        state = torch.load(self._checkpoint, map_location=self.args.device)
        set_peft_model_state_dict(self.model, state["adapter"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.done, self.elapsed = state["done"], state["elapsed"]

    def _save(self) -> None:
        """Write the checkpoint completely or not at all: a partial one could not be resumed from."""
        state = {"adapter": adapter_of(self.model), "optimizer": self.optimizer.state_dict()}
        unfinished = self._checkpoint.with_suffix(".part")
        torch.save(state | {"done": self.done, "elapsed": self.elapsed}, unfinished)
        unfinished.replace(self._checkpoint)

    def _finish(self) -> dict[str, Any]:
        for parameter in self.trainable:  # half the size; both engines compute in 16 bits
            parameter.data = parameter.data.bfloat16()
        # By default peft would look for `name` on the hub.
        self.model.save_pretrained(self.args.out, save_embedding_layers=False)
        self._checkpoint.unlink(missing_ok=True)
        card = self._card()
        (self.args.out / "trained.json").write_text(json.dumps(card, indent=1))
        return card

    def _card(self) -> dict[str, Any]:
        args, config = self.args, self.model.config
        return {
            "base": args.name or args.base.name,
            "form": "json",
            "architecture": config.model_type,
            "heads": [config.num_attention_heads, config.num_key_value_heads],
            "rank": args.rank,
            "start": args.start and args.start.name,
            "rate": args.rate,
            "seed": args.seed,
            "steps": self.done,
            "tokens_a_step": args.step,
            "tokens": int(self.packed.ends[self.parts[self.done - 1].stop - 1]) if self.done else 0,
            "seconds": round(self.elapsed, 1),
            "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
            "torch": torch.__version__,
            "last_loss": round(_mean(self.losses[-100:]), 4) if self.losses else None,
        }


def _mean(losses: list[torch.Tensor]) -> float:
    return float(torch.stack(losses).mean())


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fit")
    parser.add_argument("base", type=Path)
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--step", type=int, default=0, help="tokens per step (0: one sequence)")
    parser.add_argument("--flex", action="store_true", help="FlexAttention and compiled layers (CUDA)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="folder of an adapter to start from, of at most this rank")
    parser.add_argument("--within", type=float, default=math.inf, help="stop after so many seconds")
    parser.add_argument("--name", default="", help="BASE's name in the model lock (default: its file name)")
    return parser.parse_args(argv)


def main() -> int:
    print(json.dumps(Training(parse_args()).run()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
