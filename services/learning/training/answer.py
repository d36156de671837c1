"""What an adapter answers to packed questions, greedily, under the mask. Runs as a file: `fit.py`.

    python services/learning/training/answer.py BASE ADAPTER QUESTIONS.json OUT.jsonl [--device cuda]

A line an order: `id`, `part`, `text`, and of the model's own distribution, without the mask, `logprob` (of
the whole answer) and `overruled` (tokens that the mask chose against it).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llguidance.hf
import numpy as np
import torch
from adapted import base_model
from llguidance import LLMatcher
from peft import PeftModel
from transformers import AutoTokenizer, DynamicCache

MOST = 400  # tokens of an answer


class Masks:
    """One matcher an order, and their masks as one array over the vocabulary."""

    def __init__(self, tokenizer: Any, larks: Sequence[str], vocabulary: int) -> None:
        self._matchers = [LLMatcher(tokenizer, lark) for lark in larks]
        self._vocabulary = vocabulary
        self._size = tokenizer.vocab_size

    def allowed(self, running: list[bool], device: str) -> torch.Tensor:
        """Shape (rows, vocabulary), bool."""
        words = (self._size + 31) // 32
        bits = np.zeros((len(self._matchers), words), np.int32)
        for row, matcher in enumerate(self._matchers):
            if running[row]:
                mask = matcher.compute_bitmask()
                bits[row, : len(mask) // 4] = np.frombuffer(mask, np.int32)[:words]
        packed = torch.from_numpy(bits).to(device)
        shifts = torch.arange(32, device=device, dtype=torch.int32)
        opened = ((packed[:, :, None] >> shifts) & 1).bool().flatten(1)
        room = torch.zeros(len(self._matchers), self._vocabulary, dtype=torch.bool, device=device)
        width = min(opened.shape[1], self._vocabulary)
        room[:, :width] = opened[:, :width]
        return room

    def take(self, row: int, token: int) -> None:
        if not self._matchers[row].consume_token(token):
            raise RuntimeError(self._matchers[row].get_error())


@dataclass(slots=True)
class SavedAnswer:
    """One order's answer as it grows."""

    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    overruled: int = 0
    running: bool = True

    def take(self, token: int, logprob: float, overruled: bool, end: int) -> None:
        self.logprob += logprob
        self.overruled += overruled
        self.running = token != end
        if self.running:
            self.tokens.append(token)


def answers(
    model: Any, menu: list[int], orders: list[list[int]], masks: Masks, end: int, device: str
) -> list[SavedAnswer]:
    """Greedy answers to the orders of one menu, all at once."""
    rows, longest = len(orders), max(map(len, orders))
    cache = DynamicCache()
    model(
        input_ids=torch.tensor([menu], device=device),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    cache.batch_repeat_interleave(rows)
    pad = [longest - len(order) for order in orders]
    tokens = torch.tensor([[end] * p + order for p, order in zip(pad, orders, strict=True)], device=device)
    seen = torch.ones(rows, len(menu) + longest, dtype=torch.long, device=device)
    for row, p in enumerate(pad):
        seen[row, len(menu) : len(menu) + p] = 0
    place = (seen.cumsum(1) - 1)[:, len(menu) :]
    given = [SavedAnswer() for _ in orders]
    for _ in range(MOST):
        out = model(
            input_ids=tokens,
            attention_mask=seen,
            position_ids=place,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        chosen = _next(out.logits[:, -1].float(), given, masks, end, device)
        if not any(answer.running for answer in given):
            break
        tokens, place = chosen[:, None], place[:, -1:] + 1
        seen = torch.cat([seen, seen.new_ones(rows, 1)], 1)
    return given


def _next(
    logits: torch.Tensor, given: list[SavedAnswer], masks: Masks, end: int, device: str
) -> torch.Tensor:
    """The likeliest token of each order that the mask allows, taken into its answer."""
    own, allowed = logits.argmax(1), masks.allowed([answer.running for answer in given], device)
    chosen = logits.masked_fill(~allowed, -torch.inf).argmax(1)
    likely = torch.log_softmax(logits, 1).gather(1, chosen[:, None])[:, 0].tolist()
    for row, (token, first) in enumerate(zip(chosen.tolist(), own.tolist(), strict=True)):
        if given[row].running:
            given[row].take(token, likely[row], token != first, end)
            if given[row].running:
                masks.take(row, token)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="answer")
    parser.add_argument("base", type=Path)
    parser.add_argument("adapter", help="a folder, or `none` for the base as it is")
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=160, help="orders at once")
    args = parser.parse_args()
    model = base_model(args.base, args.device)
    if args.adapter != "none":
        model = PeftModel.from_pretrained(model, args.adapter).merge_and_unload()
    model.eval()
    tokenizer = _tokenizer(args.base)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    known = llguidance.hf.from_tokenizer(tokenizer, eos_token=end)
    started, count = time.monotonic(), 0
    with args.out.open("w") as out, torch.inference_mode():
        for shop in json.loads(args.questions.read_text()):
            orders = sorted(shop["orders"], key=lambda order: len(order["tokens"]))
            for at in range(0, len(orders), args.rows):
                part = orders[at : at + args.rows]
                masks = Masks(known, [order["lark"] for order in part], model.config.vocab_size)
                found = answers(model, shop["menu"], [o["tokens"] for o in part], masks, end, args.device)
                for order, answer in zip(part, found, strict=True):
                    row = {"id": order["id"], "part": shop["part"], "text": tokenizer.decode(answer.tokens)}
                    row |= {"logprob": round(answer.logprob, 4), "overruled": answer.overruled}
                    out.write(json.dumps(row) + "\n")
                count += len(part)
    print(f"{count} orders in {time.monotonic() - started:.0f} s")
    return 0


def _tokenizer(base: Path) -> Any:
    if base.is_dir():
        return AutoTokenizer.from_pretrained(base)
    return AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name)


if __name__ == "__main__":
    raise SystemExit(main())
