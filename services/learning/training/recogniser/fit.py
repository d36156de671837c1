"""Train a LoRA adapter of Whisper on spoken orders, in the training environment, wherever torch does.

    python fit.py BASE SPOKEN.npz OUT --name faster-whisper-base --within 300

BASE is what `unpack.py` made, with the model's `tokenizer.json` next to it; SPOKEN is of `spoken.py`. Each
recording sounds different each time (`sounds.py`), half of the time in a window of its own length, as a
fitted one. It goes on for `--within` seconds, the rate falling with them. OUT gets an adapter as peft writes
one, and `trained.json`.

Cost: 195 s on an H100 that trained two others (docs/training.md); not measured on a CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu
from torch.nn.utils.rnn import pad_sequence
from transformers.modeling_outputs import BaseModelOutput

from services.learning.training.recogniser import sounds
from services.learning.training.recogniser.spoken import Writer, orders

LAYERS = r".*\.(q_proj|k_proj|v_proj|out_proj|fc1|fc2)"
IGNORED, LANGUAGE = -100, "en"


class Pool:
    """Orders whose recordings are on the device."""

    def __init__(self, file: Path, device: str) -> None:
        self.orders = orders(file)
        self.sounds = [torch.from_numpy(one.samples).to(device) for one in self.orders]


def mel_filters() -> Tensor:
    """The bands of faster-whisper (80 x 201), which are those of librosa and of transformers."""
    from transformers import WhisperFeatureExtractor

    return torch.from_numpy(WhisperFeatureExtractor().mel_filters.T.copy()).float()


def batches(size: int, pool: Pool, draw: random.Random) -> Iterator[list[int]]:
    """Numbers of orders, without end: each round all in another way, those of like length together."""
    while True:
        numbers = range(len(pool.orders))
        shuffled = sorted(numbers, key=lambda n: len(pool.sounds[n]) * draw.uniform(0.8, 1.25))
        groups = [shuffled[i : i + size] for i in range(0, len(shuffled), size)]
        draw.shuffle(groups)
        yield from groups


def encoded_by(encoder: Any, features: Tensor) -> Tensor:
    """What transformers' encoder makes of a window of any length; itself it refuses all but 30 s."""
    hidden = gelu(encoder.conv2(gelu(encoder.conv1(features)))).transpose(1, 2)
    hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
    for layer in encoder.layers:
        hidden = layer(hidden, None)
    normed: Tensor = encoder.layer_norm(hidden)
    return normed


def loss_of(
    model: Any, some: Sequence[int], pool: Pool, mel: Tensor, writer: Writer, draw: random.Random
) -> Tensor:
    """Mean loss over the words of some orders, each of which sounds different each time."""
    torch_draw = torch.Generator().manual_seed(draw.getrandbits(32))
    made = sounds.batch([pool.sounds[n] for n in some], pool.sounds, mel, torch_draw, draw.random() < 0.5)
    before, targets = [], []
    for number, span in zip(some, made.spans, strict=True):
        text = writer.text(pool.orders[number].text, span)
        before.append(torch.tensor([*writer.start, *text[:-1]]))
        targets.append(torch.tensor([IGNORED] * (len(writer.start) - 1) + text))
    device = mel.device
    tokens = pad_sequence(before, True, writer.end).to(device)
    with torch.autocast(
        device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"
    ):  # where it is faster
        encoded = BaseModelOutput(encoded_by(model.get_base_model().model.encoder, made.features))
        logits = model(encoder_outputs=encoded, decoder_input_ids=tokens).logits
    wanted = pad_sequence(targets, True, IGNORED).to(device)
    return cross_entropy(logits.float().flatten(0, 1), wanted.flatten(), ignore_index=IGNORED)


def rate_at(step: int, done: float, top: float) -> float:
    """Up over the first 50 steps, then with the share that is done down along a cosine to a fiftieth."""
    return top * min(1.0, (step + 1) / 50) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def fit(model: Any, pool: Pool, mel: Tensor, writer: Writer, args: argparse.Namespace) -> dict[str, Any]:
    """Train `model` in place; what it cost."""
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=args.rate, betas=(0.9, 0.98), weight_decay=0.01)
    draw = random.Random(args.seed)  # noqa: S311
    began, step, seen, losses = time.monotonic(), 0, 0, list[float]()
    for some in batches(args.batch, pool, draw):
        done = (time.monotonic() - began) / args.within
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, done, args.rate)
        loss = loss_of(model, some, pool, mel, writer, draw)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        step, seen = step + 1, seen + len(some)
        if step % 50 == 1:
            print(f"{step} {time.monotonic() - began:.0f} s, {_mean(losses[-50:]):.4f}", flush=True)
    return {
        "steps": step,
        "recordings": len(pool.orders),
        "heard": seen,
        "seconds": round(time.monotonic() - began, 1),
        "last_loss": round(_mean(losses[-50:]), 4),
    }


def _mean(losses: Sequence[float]) -> float:
    return sum(losses) / max(1, len(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("spoken", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", required=True, help="of the base in the model lock")
    parser.add_argument("--within", type=float, required=True, help="seconds")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    from tokenizers import Tokenizer
    from transformers import WhisperForConditionalGeneration

    torch.manual_seed(args.seed)
    if args.device == "cuda":
        torch.backends.cuda.cufft_plan_cache.max_size = 64  # each plan keeps memory of its own
    writer = Writer(Tokenizer.from_file(str(args.base / "tokenizer.json")), LANGUAGE)
    model: Any = WhisperForConditionalGeneration.from_pretrained(args.base, dtype=torch.float32)
    config = LoraConfig(r=args.rank, lora_alpha=args.rank, lora_dropout=0.0, target_modules=LAYERS)
    model = model.to(args.device)
    mel = mel_filters().to(args.device)
    model = get_peft_model(model, config).train()
    pool = Pool(args.spoken, args.device)
    cost = fit(model, pool, mel, writer, args)
    args.out.mkdir(parents=True, exist_ok=True)
    config.base_model_name_or_path = args.name
    model.half().save_pretrained(args.out)
    on = torch.cuda.get_device_name() if args.device == "cuda" else args.device
    made = {"base": args.name, "languages": [LANGUAGE]}
    made |= {name: getattr(args, name) for name in ("rank", "rate", "seed", "batch")}
    trained = made | cost | {"device": on, "torch": torch.__version__}
    (args.out / "trained.json").write_text(json.dumps(trained, indent=1) + "\n")


if __name__ == "__main__":
    main()
