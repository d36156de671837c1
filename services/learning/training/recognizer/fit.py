"""Train a LoRA adapter of Whisper on spoken orders, in the training environment.

    python fit.py BASE SPOKEN.npz OUT --name faster-whisper-base --within 300

BASE is written by `unpack.py`, plus the model's `tokenizer.json`; SPOKEN by `spoken.py`. Each recording is
augmented differently each time (`sounds.py`), and half of the batches have windows shortened to the
recordings, as in serving. Training takes `--within` seconds. OUT gets peft's adapter and `trained.json`.

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

from services.learning.training.recognizer import sounds
from services.learning.training.recognizer.spoken import Targets, orders

LAYERS = r".*\.(q_proj|k_proj|v_proj|out_proj|fc1|fc2)"
IGNORED, LANGUAGE = -100, "en"


class Dataset:
    """Spoken orders, with their recordings on the device."""

    def __init__(self, file: Path, device: str) -> None:
        self.orders = orders(file)
        self.recordings = [torch.from_numpy(order.samples).to(device) for order in self.orders]


def mel_filters() -> Tensor:
    """Return the mel filters (80 x 201), the same in faster-whisper, librosa and transformers."""
    from transformers import WhisperFeatureExtractor

    return torch.from_numpy(WhisperFeatureExtractor().mel_filters.T.copy()).float()


def batches(size: int, data: Dataset, rng: random.Random) -> Iterator[list[int]]:
    """Yield indices of orders of similar length, endlessly, in a new order each epoch."""
    while True:
        indices = range(len(data.orders))
        shuffled = sorted(indices, key=lambda n: len(data.recordings[n]) * rng.uniform(0.8, 1.25))
        groups = [shuffled[i : i + size] for i in range(0, len(shuffled), size)]
        rng.shuffle(groups)
        yield from groups


def encode(encoder: Any, features: Tensor) -> Tensor:
    """Run transformers' encoder on a window of any length; its own `forward` accepts only 30 s."""
    hidden = gelu(encoder.conv2(gelu(encoder.conv1(features)))).transpose(1, 2)
    hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
    for layer in encoder.layers:
        hidden = layer(hidden, None)
    normed: Tensor = encoder.layer_norm(hidden)
    return normed


def loss_of(
    model: Any, indices: Sequence[int], data: Dataset, mel: Tensor, targets: Targets, rng: random.Random
) -> Tensor:
    """Return the mean loss over the tokens of some orders, augmented at random."""
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    recordings, full = [data.recordings[n] for n in indices], rng.random() < 0.5
    augmented = sounds.batch(recordings, data.recordings, mel, generator, full)
    inputs, labels = [], []
    for number, span in zip(indices, augmented.spans, strict=True):
        text = targets.text(data.orders[number].text, span)
        inputs.append(torch.tensor([*targets.start, *text[:-1]]))
        labels.append(torch.tensor([IGNORED] * (len(targets.start) - 1) + text))
    device = mel.device
    tokens = pad_sequence(inputs, True, targets.end).to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        encoded = BaseModelOutput(encode(model.get_base_model().model.encoder, augmented.features))
        logits = model(encoder_outputs=encoded, decoder_input_ids=tokens).logits
    expected = pad_sequence(labels, True, IGNORED).to(device)
    return cross_entropy(logits.float().flatten(0, 1), expected.flatten(), ignore_index=IGNORED)


def rate_at(step: int, progress: float, peak: float) -> float:
    """Return the learning rate: 50 steps of warm-up, then a cosine decay to a fiftieth of the peak."""
    return peak * min(1.0, (step + 1) / 50) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


def fit(model: Any, data: Dataset, mel: Tensor, targets: Targets, args: argparse.Namespace) -> dict[str, Any]:
    """Train `model` in place; return what its card says about the run."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.rate, betas=(0.9, 0.98), weight_decay=0.01)
    rng = random.Random(args.seed)  # noqa: S311
    started, step, heard, losses = time.monotonic(), 0, 0, list[float]()
    for indices in batches(args.batch, data, rng):
        progress = (time.monotonic() - started) / args.within
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, progress, args.rate)
        loss = loss_of(model, indices, data, mel, targets, rng)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        step, heard = step + 1, heard + len(indices)
        if step % 50 == 1:
            print(f"{step} {time.monotonic() - started:.0f} s, {_mean(losses[-50:]):.4f}", flush=True)
    return {
        "steps": step,
        "recordings": len(data.orders),
        "heard": heard,
        "seconds": round(time.monotonic() - started, 1),
        "last_loss": round(_mean(losses[-50:]), 4),
    }


def _mean(losses: Sequence[float]) -> float:
    return sum(losses) / max(1, len(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("spoken", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", required=True, help="the base's name in the model lock")
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
        torch.backends.cuda.cufft_plan_cache.max_size = 64  # each cached plan holds memory
    targets = Targets(Tokenizer.from_file(str(args.base / "tokenizer.json")), LANGUAGE)
    model: Any = WhisperForConditionalGeneration.from_pretrained(args.base, dtype=torch.float32)
    config = LoraConfig(r=args.rank, lora_alpha=args.rank, lora_dropout=0.0, target_modules=LAYERS)
    model = model.to(args.device)
    mel = mel_filters().to(args.device)
    model = get_peft_model(model, config).train()
    cost = fit(model, Dataset(args.spoken, args.device), mel, targets, args)
    args.out.mkdir(parents=True, exist_ok=True)
    config.base_model_name_or_path = args.name
    model.half().save_pretrained(args.out)
    on = torch.cuda.get_device_name() if args.device == "cuda" else args.device
    card = {"base": args.name, "languages": [LANGUAGE]}
    card |= {name: getattr(args, name) for name in ("rank", "rate", "seed", "batch")}
    trained = card | cost | {"device": on, "torch": torch.__version__}
    (args.out / "trained.json").write_text(json.dumps(trained, indent=1) + "\n")


if __name__ == "__main__":
    main()
