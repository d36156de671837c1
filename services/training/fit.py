"""Train a LoRA adapter on packed orders. Runs as a file, in the training environment, wherever torch does.

    python services/training/fit.py BASE PACKED.npz OUT [--device cuda] [--rank 16] [--rate 2e-4]

BASE is a GGUF of the model lock, unpacked to bfloat16: the adapter learns on the rounded weights that it is
served with. Each order of a sequence sees its menu and itself (a mask over four dimensions), and the loss is
on carts alone. A checkpoint every few minutes: the same command goes on from the last one, to the same end.
Where a machine is lent, `--within` ends in time: the rate falls with the time that is used, if that is ahead
of the steps.

Cost: some minutes on an H100 (docs/training.md); not measured on a CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
from peft import get_peft_model_state_dict as adapter_of
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CHECKPOINT_S = 300.0

Array = npt.NDArray[Any]


def base_model(path: Path, device: str) -> Any:
    """The base in bfloat16, from a GGUF or a folder of safetensors."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM

    if path.is_dir():
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    else:
        from transformers import GgufConfig

        model = AutoModelForCausalLM.from_pretrained(
            path.parent,
            gguf_file=path.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
        )
    return model.to(device)


def with_adapter(model: Any, rank: int, name: str) -> Any:
    """`model` with a fresh adapter in float32, on all linear layers; `name` is what the adapter calls it."""
    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=LAYERS, task_type="CAUSAL_LM"
    )
    wrapped = get_peft_model(model, config)
    for parameter in wrapped.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    config.base_model_name_or_path = name  # peft would write the path on this machine
    return wrapped


def grouped(ends: Array, most: int) -> list[slice]:
    """Sequences of each step: those, one after the other, that come to at most `most` tokens, or one."""
    groups, first = list[slice](), 0
    starts = [0, *ends[:-1].tolist()]
    for number, end in enumerate(ends.tolist()):
        if number > first and end - starts[first] > most:
            groups.append(slice(first, number))
            first = number
    return [*groups, slice(first, len(ends))] if len(ends) else []


def inputs(orders: Array, lengths: Array, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Of sequences that stand one after the other: who sees whom, shape (1, 1, n, n), and positions, shape
    (1, n). Each begins at 0, and each of its orders right behind its menu."""
    order = torch.from_numpy(orders.astype(np.int64)).to(device)
    n = len(order)
    of = np.repeat(np.arange(len(lengths)), lengths)
    sequence = torch.from_numpy(of).to(device)
    earlier = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    seen = earlier & ((order[:, None] == order[None, :]) | (order[None, :] == 0))
    seen &= sequence[:, None] == sequence[None, :]
    menus = np.bincount(of[orders == 0], minlength=len(lengths))
    starts = np.flatnonzero(np.diff(orders, prepend=-1) | np.diff(of, prepend=-1))
    first = np.repeat(starts, np.diff(np.append(starts, n)))
    positions = np.arange(n) - first + np.where(orders > 0, menus[of], 0)
    return seen[None, None], torch.from_numpy(positions)[None].to(device)


def loss_of(model: Any, packed: dict[str, Array], step: slice, device: str) -> torch.Tensor:
    """Mean loss over the tokens of a step's carts."""
    ends = np.append(0, packed["ends"])[step.start : step.stop + 1]
    part = slice(int(ends[0]), int(ends[-1]))
    tokens = torch.from_numpy(packed["tokens"][part].astype(np.int64)).to(device)
    seen, positions = inputs(packed["orders"][part], np.diff(ends), device)
    asked = np.flatnonzero(packed["learned"][part][1:])
    with torch.autocast(device, dtype=torch.bfloat16):
        inner = model.base_model.model
        hidden = inner.model(
            input_ids=tokens[None], attention_mask=seen, position_ids=positions, use_cache=False
        ).last_hidden_state[0]
        where = torch.from_numpy(asked).to(device)
        logits = inner.lm_head(hidden[where])
    return cross_entropy(logits.float(), tokens[where + 1])


def rate_at(step: int, done: float, top: float) -> float:
    """Up over the first 30 steps, then with the share that is done down along a cosine to a twentieth."""
    warm = min(1.0, (step + 1) / 30)
    return top * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


def fit(args: argparse.Namespace) -> dict[str, Any]:
    """Train, and save the adapter in OUT. Returns what a model card tells of it."""
    torch.manual_seed(args.seed)
    # With masks of our own, cuDNN's attention came to NaN on an H100 (torch 2.11) within 100 steps.
    torch.backends.cuda.enable_cudnn_sdp(False)
    packed = dict(np.load(args.packed))
    parts = grouped(packed["ends"], args.step)
    steps = len(parts)
    model = with_adapter(base_model(args.base, args.device), args.rank, args.name or args.base.name)
    if args.start:
        set_peft_model_state_dict(model, load_file(args.start / "adapter_model.safetensors"))
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=args.rate, weight_decay=0.0)
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint, done, spent = args.out / "checkpoint.pt", 0, 0.0
    if checkpoint.exists():
        kept = torch.load(checkpoint, map_location=args.device)
        set_peft_model_state_dict(model, kept["adapter"])
        optimizer.load_state_dict(kept["optimizer"])
        done, spent = kept["done"], kept["spent"]
    started, saved = time.monotonic() - spent, time.monotonic()
    losses: list[torch.Tensor] = []
    model.train()
    for step in range(done, steps):
        share = max(step / steps, (time.monotonic() - started) / args.within)
        if share >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, share, args.rate)
        loss = loss_of(model, packed, parts[step], args.device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(learned, 1.0)
        if torch.isfinite(norm):
            optimizer.step()
        else:
            print(f"step {step + 1} left out: its gradient is not finite", flush=True)
        losses.append(loss.detach())
        now = time.monotonic()
        if step % 25 == 24 or step == steps - 1:
            speed = int(packed["ends"][parts[step].stop - 1]) / (now - started)
            told = f"{now - started:.0f} s, step {step + 1} of {steps}, {speed:.0f} tokens/s"
            print(f"{told}, loss {_mean(losses[-50:]):.4f}", flush=True)
        if now - saved > CHECKPOINT_S:
            _save(checkpoint, model, optimizer, done=step + 1, spent=now - started)
            saved = now
    for parameter in learned:  # half the size, and what both engines compute with
        parameter.data = parameter.data.bfloat16()
    # Asked, peft would look on the hub for what `name` is.
    model.save_pretrained(args.out, save_embedding_layers=False)
    checkpoint.unlink(missing_ok=True)
    card = _card(args, model, packed, parts[: done + len(losses)], time.monotonic() - started, losses)
    (args.out / "trained.json").write_text(json.dumps(card, indent=1))
    return card


def _card(
    args: argparse.Namespace,
    model: Any,
    packed: dict[str, Any],
    parts: list[slice],
    seconds: float,
    losses: list[torch.Tensor],
) -> dict[str, Any]:
    return {
        "base": args.name or args.base.name,
        "architecture": model.config.model_type,
        "heads": [model.config.num_attention_heads, model.config.num_key_value_heads],
        "rank": args.rank,
        "start": args.start and args.start.name,
        "rate": args.rate,
        "seed": args.seed,
        "steps": len(parts),
        "tokens_a_step": args.step,
        "tokens": int(packed["ends"][parts[-1].stop - 1]) if parts else 0,
        "seconds": round(seconds, 1),
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        "torch": torch.__version__,
        "last_loss": round(_mean(losses[-100:]), 4) if losses else None,
    }


def _mean(losses: list[torch.Tensor]) -> float:
    return float(torch.stack(losses).mean())


def _save(checkpoint: Path, model: Any, optimizer: Any, *, done: int, spent: float) -> None:
    """Whole or not at all: what is cut off here would keep the next run from going on."""
    kept = {"adapter": adapter_of(model), "optimizer": optimizer.state_dict(), "done": done, "spent": spent}
    unfinished = checkpoint.with_suffix(".part")
    torch.save(kept, unfinished)
    unfinished.replace(checkpoint)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fit")
    parser.add_argument("base", type=Path)
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--step", type=int, default=0, help="tokens of a step, by default one sequence")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="an adapter of the same rank to go on from, as a folder")
    parser.add_argument("--within", type=float, default=math.inf, help="seconds, for fewer steps than packed")
    parser.add_argument("--name", default="", help="model of the lock that BASE is, by default its file name")
    print(json.dumps(fit(parser.parse_args())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
