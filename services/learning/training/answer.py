"""Answer packed questions with an adapter, greedily, under the mask. Runs as a script, as `fit.py` does.

    python services/learning/training/answer.py BASE ADAPTER QUESTIONS.json OUT.jsonl [--device cuda]

Writes one line per order: `id`, `part`, `text` and, by the model's distribution without the mask, `logprob`
of the whole answer and `overruled`, the number of tokens at which the mask ruled out its first choice.
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

MAX_TOKENS = 400  # of an answer


class Masks:
    """One matcher per order, and their masks as one array over the vocabulary."""

    def __init__(self, tokenizer: Any, larks: Sequence[str], vocabulary: int) -> None:
        self._matchers = [LLMatcher(tokenizer, lark) for lark in larks]
        self._vocabulary = vocabulary
        self._size = tokenizer.vocab_size

    def allowed(self, running: list[bool], device: str) -> torch.Tensor:
        """Return the allowed tokens: bool, shape (rows, vocabulary)."""
        words = (self._size + 31) // 32
        bits = np.zeros((len(self._matchers), words), np.int32)
        for row, matcher in enumerate(self._matchers):
            if running[row]:
                mask = matcher.compute_bitmask()
                bits[row, : len(mask) // 4] = np.frombuffer(mask, np.int32)[:words]
        packed = torch.from_numpy(bits).to(device)
        shifts = torch.arange(32, device=device, dtype=torch.int32)
        unpacked = ((packed[:, :, None] >> shifts) & 1).bool().flatten(1)
        allowed = torch.zeros(len(self._matchers), self._vocabulary, dtype=torch.bool, device=device)
        width = min(unpacked.shape[1], self._vocabulary)
        allowed[:, :width] = unpacked[:, :width]
        return allowed

    def accept(self, row: int, token: int) -> None:
        if not self._matchers[row].consume_token(token):
            raise RuntimeError(self._matchers[row].get_error())


@dataclass(slots=True)
class SavedAnswer:
    """The answer to one order so far."""

    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    overruled: int = 0
    running: bool = True

    def append(self, token: int, logprob: float, overruled: bool, end: int) -> None:
        self.logprob += logprob
        self.overruled += overruled
        self.running = token != end
        if self.running:
            self.tokens.append(token)


def answers(
    model: Any, menu: list[int], orders: list[list[int]], masks: Masks, end: int, device: str
) -> list[SavedAnswer]:
    """Decode the orders of one menu greedily, in one batch."""
    rows, longest = len(orders), max(map(len, orders))
    cache = DynamicCache()
    model(
        input_ids=torch.tensor([menu], device=device),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    cache.batch_repeat_interleave(rows)
    padding = [longest - len(order) for order in orders]
    padded = [[end] * n + order for n, order in zip(padding, orders, strict=True)]
    tokens = torch.tensor(padded, device=device)
    attention = torch.ones(rows, len(menu) + longest, dtype=torch.long, device=device)
    for row, n in enumerate(padding):
        attention[row, len(menu) : len(menu) + n] = 0
    positions = (attention.cumsum(1) - 1)[:, len(menu) :]
    results = [SavedAnswer() for _ in orders]
    for _ in range(MAX_TOKENS):
        out = model(
            input_ids=tokens,
            attention_mask=attention,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        chosen = _next(out.logits[:, -1].float(), results, masks, end, device)
        if not any(answer.running for answer in results):
            break
        tokens, positions = chosen[:, None], positions[:, -1:] + 1
        attention = torch.cat([attention, attention.new_ones(rows, 1)], 1)
    return results


def _next(
    logits: torch.Tensor, results: list[SavedAnswer], masks: Masks, end: int, device: str
) -> torch.Tensor:
    """Append to each running answer the likeliest token that its mask allows; return these tokens."""
    unmasked, allowed = logits.argmax(1), masks.allowed([answer.running for answer in results], device)
    chosen = logits.masked_fill(~allowed, -torch.inf).argmax(1)
    logprobs = torch.log_softmax(logits, 1).gather(1, chosen[:, None])[:, 0].tolist()
    for row, (token, first) in enumerate(zip(chosen.tolist(), unmasked.tolist(), strict=True)):
        if results[row].running:
            results[row].append(token, logprobs[row], token != first, end)
            if results[row].running:
                masks.accept(row, token)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="answer")
    parser.add_argument("base", type=Path)
    parser.add_argument("adapter", help="a folder, or `none` for the base alone")
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=160, help="orders per batch")
    args = parser.parse_args()
    model = base_model(args.base, args.device)
    if args.adapter != "none":
        model = PeftModel.from_pretrained(model, args.adapter).merge_and_unload()
    model.eval()
    tokenizer = _tokenizer(args.base)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    vocabulary = llguidance.hf.from_tokenizer(tokenizer, eos_token=end)
    started, count = time.monotonic(), 0
    with args.out.open("w") as out, torch.inference_mode():
        for shop in json.loads(args.questions.read_text()):
            orders = sorted(shop["orders"], key=lambda order: len(order["tokens"]))
            for at in range(0, len(orders), args.rows):
                part = orders[at : at + args.rows]
                masks = Masks(vocabulary, [order["lark"] for order in part], model.config.vocab_size)
                batch = answers(model, shop["menu"], [o["tokens"] for o in part], masks, end, args.device)
                for order, answer in zip(part, batch, strict=True):
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
