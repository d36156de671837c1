"""What a mask costs inside llama.cpp without the model: processor time a token of each sampler.

    python -m tests.bench.masks.alone [--orders 12] [--write docs/benchmarks/masks/mask-cost.json]

The samplers of the embedded server over the 0.5B model's vocabulary, fed whole carts token by token. Two
costs: one token through the sampler, which the server tries first with the model's own choice, and the whole
vocabulary, which follows where that choice is refused. Time is the process's own, so that other work on the
machine tells little. Adds `alone` to the file that `tests.bench.masks.cost` writes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infra.settings import settings
from infra.weights.models import resolve
from services.engines.masks.grammar import build_mask
from tests.bench.masks.cost import MODEL, PICKS, llguidance, many_names, settled
from tests.bench.orders import Order
from tests.bench.schemas.cases import spelled
from tests.bench.schemas.llama_samplers import Llama, Sampler, gbnf_of
from tests.bench.techniques.wire import wire_schema

Stream = tuple[Callable[[], Sampler | None], str]


def streams(llama: Llama, orders: list[tuple[Order, str]]) -> dict[str, list[Stream]]:
    """Samplers still to be made, by way, each with the text that is fed to it."""
    found: dict[str, list[Stream]] = {}

    def add(way: str, make: Callable[[], Sampler | None], text: str) -> None:
        found.setdefault(way, []).append((make, text))

    for order, text in orders:
        schema = wire_schema(order.menu)
        lark = build_mask(order.evidence(), order.labels, "bench").lark
        add("llguidance, evidence", lambda g=lark: llama.llguidance(g), text)
        add("llguidance, schema", lambda s=schema: llama.llguidance(llguidance(s)["grammar"]), text)
        add("gbnf, schema", lambda s=schema: llama.gbnf(gbnf_of(s)), text)
    known, schema = many_names()
    for number in range(PICKS):
        text = spelled({"name": known[number * len(known) // PICKS]})
        add("5000: llguidance", lambda: llama.llguidance(llguidance(schema)["grammar"]), text)
        add("5000: gbnf", lambda: llama.gbnf(gbnf_of(schema)), text)
    return found


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Microseconds of this process's processor time, and what came of it."""
    started = time.process_time_ns()
    made = work()
    return (time.process_time_ns() - started) / 1e3, made


def measured(llama: Llama, own: list[Stream]) -> dict[str, Any]:
    """Milliseconds to make a sampler and give its first mask; microseconds a token; texts that it refused."""
    made: list[float] = []
    one: list[float] = []
    whole: list[float] = []
    refused = 0
    for make, text in own:
        took, sampler = timed(make)
        assert sampler is not None
        made.append(took / 1e3)
        for token in llama.tokenized(text):
            took, open_to = timed(lambda s=sampler, t=token: s.open_to(t))
            one.append(took)
            sampler.fresh()
            whole.append(timed(sampler.fill)[0])
            if not open_to:
                refused += 1
                break
            sampler.accept(token)
        sampler.free()
    return {
        "made_ms_first": round(made[0], 2),
        "made_ms_p50": round(statistics.median(made), 2),
        "one_token_us": _ranks(one),
        "whole_vocabulary_us": _ranks(whole),
        "tokens": len(one),
        "texts": len(own),
        "refused": refused,
    }


def _ranks(values: list[float]) -> dict[str, float]:
    ranked = sorted(values)
    return {f"p{share}": round(ranked[int(share / 100 * (len(ranked) - 1))], 1) for share in (50, 95, 100)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=12)
    parser.add_argument("--write", type=Path, default=Path("docs/benchmarks/masks/mask-cost.json"))
    args = parser.parse_args()
    llama = Llama(resolve(MODEL, settings().models_dir))
    llama.llguidance("start: /a/").free()  # the tokenizer's own table is made once
    found = {way: measured(llama, own) for way, own in streams(llama, settled(args.orders)).items()}
    kept = json.loads(args.write.read_text()) if args.write.exists() else {}
    args.write.write_text(json.dumps({**kept, "alone": found}, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
