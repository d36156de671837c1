"""Carts by genlm-control's grammar-aligned decoding, and greedily under the same form.

    GENLM_PYTHON -m tests.bench.aligned.particles --model FOLDER --orders FILE --out FILE

Run by the interpreter of an environment that has genlm-control and llguidance, so nothing of the product is
imported here. `orders` comes from `python -m tests.bench.aligned`: chat messages, and a form of the cart by
`schema`, which the library holds by a parser of its own, or by `lark`, our grammar, which it can't read and
llguidance holds for it.

Particles are drawn by the library's own sampler (AWRS: a token that the form refuses is drawn anew, and what
was refused is counted in the weight), and those whose weight has sunk are replaced while they are written
(SMC), so that they come as often as the model itself would have said them among all texts of the form.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from genlm.backend.llm import AsyncTransformer
from genlm.control import AWRS, JsonSchema, Potential, PromptedLLM
from llguidance import LLMatcher, LLTokenizer
from llguidance.hf import from_tokenizer

ESS = 0.5  # of the particles; below it they are drawn anew by their weights, as in the library's examples
IMPOSSIBLE = float("-inf")
LIBRARIES = ("genlm-control", "llguidance", "torch", "transformers")
Row = dict[str, Any]


class CountingModel(AsyncTransformer):
    """The library's model on transformers, which tells how much was asked of it: each beginning of an answer
    that it had not seen yet, and the tokens that were run for them (its cache ends with the prompt)."""

    contexts = 0
    tokens_run = 0

    def _evaluate_queries(self, queries: list[Any]) -> None:
        fresh = {tuple(query.prompt) for query in queries}
        self.contexts += len(fresh)
        self.tokens_run += sum(map(len, fresh))
        super()._evaluate_queries(queries)


class Grammar(Potential):
    """A grammar of llguidance as a condition: 0 for what it allows, nothing else is possible."""

    def __init__(self, llm: PromptedLLM, tokenizer: LLTokenizer, lark: str) -> None:
        super().__init__(llm.vocab, tables=llm.tables)
        start = LLMatcher(tokenizer, lark, log_level=0)
        if start.get_error():
            raise ValueError(start.get_error())
        self._after: dict[tuple[int, ...], LLMatcher | None] = {(): start}

    async def prefix(self, context: list[Any]) -> float:
        return IMPOSSIBLE if self._matcher(tuple(token.token_id for token in context)) is None else 0.0

    async def complete(self, context: list[Any]) -> float:
        matcher = self._matcher(tuple(token.token_id for token in context))
        return 0.0 if matcher is not None and matcher.is_accepting() else IMPOSSIBLE

    def _matcher(self, ids: tuple[int, ...]) -> LLMatcher | None:
        if ids not in self._after:
            before = self._matcher(ids[:-1])
            after = before.deep_copy() if before is not None else None
            self._after[ids] = after if after is not None and after.consume_token(ids[-1]) else None
        return self._after[ids]


async def greedy(llm: PromptedLLM, form: Potential, max_tokens: int) -> Row:
    """The likeliest token that the form allows, until it is the end."""
    context: list[Any] = []
    allowed = set(form.vocab_eos)
    for _ in range(max_tokens):
        weights = await llm.logw_next(context)
        for place in torch.argsort(torch.as_tensor(weights.weights), descending=True).tolist():
            token = weights.decode[place]
            if token not in allowed:
                continue
            if token is llm.eos:
                if await form.complete(context) == 0:
                    return {"text": _text(context), "finish": "stop", "tokens": len(context) + 1}
            elif await form.prefix([*context, token]) == 0:
                context.append(token)
                break
    return {"text": _text(context), "finish": "length", "tokens": len(context)}


async def aligned(llm: PromptedLLM, form: Potential, count: int, max_tokens: int, seed: int) -> list[Row]:
    """So many particles, each with its share of the weight; none where all of them came to a dead end."""
    torch.manual_seed(seed)
    found = await AWRS(llm, form, seed=seed).smc(n_particles=count, ess_threshold=ESS, max_tokens=max_tokens)
    shares = found.normalized_weights.tolist()
    return [
        {
            "text": _text([token for token in context if token is not llm.eos]),
            "finish": "stop" if context and context[-1] is llm.eos else "length",
            "share": share,
            "tokens": len(context),
        }
        for (context, _), share in zip(found, shares, strict=True)
        if share > 0
    ]


def _text(context: list[Any]) -> str:
    return b"".join(bytes(token) for token in context).decode("utf-8", errors="replace")


def form_of(order: Row, llm: PromptedLLM, tokenizer: LLTokenizer) -> Potential:
    if "lark" in order:
        return Grammar(llm, tokenizer, order["lark"])
    return JsonSchema(order["schema"]).coerce(llm, f=b"".join)


async def answered(order: Row, llm: PromptedLLM, tokenizer: LLTokenizer, args: argparse.Namespace) -> Row:
    """Particles first, so that their cost is counted whole: what they asked is in the model's cache after."""
    form = form_of(order, llm, tokenizer)
    model = llm.model
    contexts, run, started = model.contexts, model.tokens_run, time.process_time()
    particles = await aligned(llm, form, args.particles, args.max_tokens, order["seed"])
    row = {
        "id": order["id"],
        "form": order["form"],
        "particles": particles,
        "contexts": model.contexts - contexts,
        "tokens_run": model.tokens_run - run,
        "cpu_s": round(time.process_time() - started, 2),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    return {**row, "greedy": await greedy(llm, form, args.max_tokens)}


def _shared(several: list[list[int]]) -> list[int]:
    length = 0
    while length < min(map(len, several)) - 1 and len({ids[length] for ids in several}) == 1:
        length += 1
    return several[0][:length]


async def run(orders: list[Row], args: argparse.Namespace) -> None:
    """Menu by menu, since a menu's prompt is kept by the model; rows are written one by one."""
    model = CountingModel.from_name(str(args.model))
    llm = PromptedLLM(model)
    tokenizer = from_tokenizer(model.tokenizer, n_vocab=model.model.config.vocab_size)
    until = time.monotonic() + 60 * args.minutes
    prompts: dict[str, list[int]] = {
        order["id"]: model.tokenizer.apply_chat_template(
            order["messages"], add_generation_prompt=True, return_dict=False
        )
        for order in orders
    }
    with args.out.open("a", encoding="utf-8") as out:
        for menu in dict.fromkeys(order["menu"] for order in orders):
            own = [order for order in orders if order["menu"] == menu]
            model.clear_cache()
            model.cache_kv(_shared([prompts[order["id"]] for order in own]))
            for order in own:
                if time.monotonic() > until:
                    return
                llm.prompt_ids = prompts[order["id"]]
                out.write(json.dumps(await answered(order, llm, tokenizer, args), ensure_ascii=False) + "\n")
                out.flush()
                print(order["id"], order["form"], flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--orders", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--particles", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=math.inf)
    args = parser.parse_args()
    asyncio.run(run(json.loads(args.orders.read_text(encoding="utf-8")), args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
