"""What masking greedily does to what a model would have said: greedy against draws that are weighed.

    python -m tests.bench.masks.distortion [--orders 24] [--draws 8] [--minutes 20]

A mask cuts token by token and never looks ahead: a model that is led into a branch which it holds for
unlikely as a whole stays in it. The model's own distribution over the texts of the form is that of free
answers, given that they are of the form; a masked draw comes too often by as much as its tokens lost to the
mask. So each order is asked once greedily and `--draws` times at temperature 1, all under the cart's JSON
Schema. Of each answer the probability without the mask is known, and the mass that the mask left it:

- `greedy`: the likeliest legal token each time;
- `likeliest`: of greedy and draws the one that the model holds for likeliest as a whole, as a beam would;
- `resampled`: a draw, taken by its weight (the product of the masses that the mask left): aligned with the
  model's own distribution as far as so few draws can be;
- `drawn`: the first draw, unweighed;
- `vote`: the text that most of the draws come to, each by its weight.

Exact carts of each; if greedy masking distorts, the weighed ones are better.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

from llguidance import LLTokenizer

from infra.observability.json_lines import kept_lines
from infra.settings import settings
from infra.weights.models import resolve
from services.engines.masks.vocabulary import read_vocabulary
from services.engines.servers.embedded import decode_server
from services.evaluation.statistics import mcnemar, wilson
from tests.bench.chat import Answer, Chat
from tests.bench.masks.illegal_mass import MASKS, ROOT, TOP, grammar, steps
from tests.bench.orders import Order, sample
from tests.bench.published import publish
from tests.bench.techniques.methods import MAX_TOKENS
from tests.bench.techniques.reading import exact, read

WAYS = ("greedy", "likeliest", "resampled", "drawn", "vote")
Row = dict[str, Any]


def asked(chat: Chat, order: Order, tokens: LLTokenizer, draw: int | None) -> Row:
    """One masked answer, greedy where `draw` is None: its text, whether it is gold's cart, the logarithms of
    its probability without the mask and of its weight."""
    how: Row = {"temperature": 0} if draw is None else {"temperature": 1, "top_p": 1, "top_k": 0, "min_p": 0}
    seed = crc32(f"{order.id} {draw}".encode())
    lark = grammar(order, spaces=False)
    body = {"grammar": lark, "max_tokens": MAX_TOKENS, "logprobs": True, "top_logprobs": TOP, "seed": seed}
    document = chat.document(order.messages(), **body, **how)
    content = [one for one in document["choices"][0]["logprobs"]["content"] if one["top_logprobs"]]
    left = [1 - (step.low + step.high) / 2 for step in steps(content, tokens, lark)]
    reading = read(Answer.of(document, 0.0), order.labels, order.said)
    return {
        "text": document["choices"][0]["message"]["content"],
        "exact": exact(reading, order.gold),
        "failure": reading.failure or "",
        "logprob": sum(one["logprob"] for one in content),
        "log_weight": sum(math.log(max(share, 1e-12)) for share in left),
    }


def chosen(greedy: Row, draws: Sequence[Row], seed: int) -> dict[str, Row]:
    """The answer of each way."""
    weights = [math.exp(draw["log_weight"] - max(d["log_weight"] for d in draws)) for draw in draws]
    votes: defaultdict[str, float] = defaultdict(float)
    for draw, weight in zip(draws, weights, strict=True):
        votes[draw["text"]] += weight
    most = max(votes, key=lambda text: votes[text])
    return {
        "greedy": greedy,
        "likeliest": max([greedy, *draws], key=lambda answer: answer["logprob"]),
        "resampled": random.Random(seed).choices(draws, weights)[0],
        "drawn": draws[0],
        "vote": next(draw for draw in draws if draw["text"] == most),
    }


def summary(rows: Sequence[Row]) -> Row:
    """Exact carts of each way with their 95% intervals, and greedy paired against each."""
    picked = [chosen(row["greedy"], row["draws"], crc32(row["id"].encode())) for row in rows]
    found: Row = {"orders": len(rows), "draws": len(rows[0]["draws"]) if rows else 0}
    for way in WAYS:
        right = [bool(one[way]["exact"]) for one in picked]
        base = [bool(one["greedy"]["exact"]) for one in picked]
        lost = sum(a and not b for a, b in zip(base, right, strict=True))
        won = sum(b and not a for a, b in zip(base, right, strict=True))
        found[way] = {
            "exact": sum(right),
            "ci": wilson(sum(right), len(right)),
            "truncated": sum(bool(one[way]["failure"]) for one in picked),
            "won_lost_against_greedy": [won, lost],
            "p": round(mcnemar(lost, won), 4),
        }
    found["likeliest_is_not_greedy"] = sum(
        one["likeliest"]["text"] != one["greedy"]["text"] for one in picked
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=24)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "distortion")
    parser.add_argument("--out", type=Path, default=MASKS / "distortion.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    file = args.work / f"{Path(args.model).stem}-{args.draws}.jsonl"
    done = {row["id"] for row in kept_lines(file)}
    here = settings().model_copy(
        update={"llm_url": "", "llm_model": args.model, "reader": "off", "llm_slots": 4}
    )
    tokens = read_vocabulary(Path(resolve(args.model, here.models_dir))).tokenizer()
    until = time.monotonic() + 60 * args.minutes
    with (
        decode_server(here) as config,
        file.open("a", encoding="utf-8") as out,
        ThreadPoolExecutor(4) as pool,
    ):
        chat = Chat(config.llm_url, args.model, key=config.llm_api_key)
        for order in sample(args.orders):
            if order.id in done or time.monotonic() > until:
                continue
            which = [None, *range(args.draws)]
            greedy, *draws = pool.map(lambda n, o=order: asked(chat, o, tokens, n), which)
            row = {"id": order.id, "greedy": greedy, "draws": draws}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            print(order.id, flush=True)
    publish(args.out, Path(args.model).stem, summary(kept_lines(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
