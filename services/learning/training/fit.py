"""Train a LoRA adapter on packed orders. Runs as a file, in the training environment, wherever torch does.

    python fit.py BASE PACKED.npz OUT [--device cuda] [--rank 16] [--rate 2e-4] [--flex]

BASE is a GGUF of the model lock, or that unpacked to bfloat16: the adapter learns on the rounded weights that
it is served with. The loss is on carts alone. A checkpoint every few minutes: the same command goes on from
the last one, to the same end. `--within` ends in time: the rate falls with the time that is used, if that is
ahead of the steps.

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
        input_ids=batch.tokens, attention_mask=batch.seen, position_ids=batch.positions, use_cache=False
    ).last_hidden_state[0]
    logits = inner.lm_head(hidden[batch.asked])
    return cross_entropy(logits.float(), batch.tokens[0][batch.asked + 1])


def compiled(model: Any) -> None:
    """Compile each layer of `model` in place: all have one shape and share the code."""
    for layer in model.base_model.model.model.layers:
        layer.compile(dynamic=False)


def rate_at(step: int, done: float, top: float) -> float:
    """Up over the first 30 steps, then with the share that is done down along a cosine to a twentieth."""
    warm = min(1.0, (step + 1) / 30)
    return top * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


class Training:
    """One training: the model, its optimizer, and how far it has come."""

    def __init__(self, args: argparse.Namespace) -> None:
        torch.manual_seed(args.seed)
        # With masks of our own, cuDNN's attention came to NaN on an H100 (torch 2.11) within 100 steps.
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
            compiled(self.model)
        self.learned = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.learned, lr=args.rate, weight_decay=0.0)
        self.losses: list[torch.Tensor] = []
        self.done, self.spent = 0, 0.0
        self._checkpoint = args.out / "checkpoint.pt"

    def run(self) -> dict[str, Any]:
        """Train, and save the adapter in OUT. Returns what a model card tells of it."""
        self.args.out.mkdir(parents=True, exist_ok=True)
        if self._checkpoint.exists():
            self._go_on()
        started, saved = time.monotonic() - self.spent, time.monotonic()
        self.model.train()
        for step in range(self.done, len(self.parts)):
            share = max(step / len(self.parts), (time.monotonic() - started) / self.args.within)
            if share >= 1:
                break
            self._step(step, share)
            self.spent = time.monotonic() - started
            if step % 25 == 24 or step == len(self.parts) - 1:
                self._tell(step)
            if time.monotonic() - saved > CHECKPOINT_S:
                self._save()
                saved = time.monotonic()
        return self._end()

    def _step(self, step: int, share: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(step, share, self.args.rate)
        loss = loss_of(self.model, self.batches.of(self.parts[step]))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.learned, 1.0)
        if torch.isfinite(norm):
            self.optimizer.step()
        else:
            print(f"step {step + 1} left out: its gradient is not finite", flush=True)
        self.losses.append(loss.detach())
        self.done = step + 1

    def _tell(self, step: int) -> None:
        speed = int(self.packed.ends[self.parts[step].stop - 1]) / self.spent
        progress = f"{self.spent:.0f} s, step {step + 1} of {len(self.parts)}, {speed:.0f} tokens/s"
        print(f"{progress}, loss {_mean(self.losses[-50:]):.4f}", flush=True)

    def _go_on(self) -> None:
        kept = torch.load(self._checkpoint, map_location=self.args.device)
        set_peft_model_state_dict(self.model, kept["adapter"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.done, self.spent = kept["done"], kept["spent"]

    def _save(self) -> None:
        """Whole or not at all: what is cut off here would keep the next run from going on."""
        kept = {"adapter": adapter_of(self.model), "optimizer": self.optimizer.state_dict()}
        unfinished = self._checkpoint.with_suffix(".part")
        torch.save(kept | {"done": self.done, "spent": self.spent}, unfinished)
        unfinished.replace(self._checkpoint)

    def _end(self) -> dict[str, Any]:
        for parameter in self.learned:  # half the size, and what both engines compute with
            parameter.data = parameter.data.bfloat16()
        # Asked, peft would look on the hub for what `name` is.
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
            "seconds": round(self.spent, 1),
            "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
            "torch": torch.__version__,
            "last_loss": round(_mean(self.losses[-100:]), 4) if self.losses else None,
        }


def _mean(losses: list[torch.Tensor]) -> float:
    return float(torch.stack(losses).mean())


def parsed(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fit")
    parser.add_argument("base", type=Path)
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--step", type=int, default=0, help="tokens of a step, by default one sequence")
    parser.add_argument("--flex", action="store_true", help="FlexAttention and compiled layers (CUDA)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="an adapter of at most this rank to go on from, a folder")
    parser.add_argument("--within", type=float, default=math.inf, help="seconds, for fewer steps than packed")
    parser.add_argument("--name", default="", help="model of the lock that BASE is, by default its file name")
    return parser.parse_args(argv)


def main() -> int:
    print(json.dumps(Training(parsed()).run()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
