"""Grammar-aligned decoding by a library (genlm-control) beside greedy masking, on the same orders.

    python -m tests.bench.aligned --python PY --model FOLDER [--form evidence] [--orders 8] [--minutes 20]

A greedy mask cuts token by token; grammar-aligned decoding says each text of the form as often as the model
itself would, were only such texts looked at. `--form schema` is the cart's JSON Schema with the whole menu,
which the library holds by itself; `--form evidence` is the grammar of the order's own evidence, which it
can't read: llguidance holds it there. The model is asked by `particles`, in an environment of its own:

    pip install genlm-control==0.4.1 llguidance==1.9.1 torch==2.13.0

- `greedy`: the likeliest token that the form allows, each time;
- `heaviest`: the text on which most of the particles' weight lies;
- `weight on exact`: how much of the weight lies on exact carts, the chance that a draw is one.

Rows are kept, and the same command goes on from them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any
from zlib import crc32

from infra.observability.json_lines import kept_lines
from services.engines.masks.grammar import build_mask
from services.evaluation.statistics import mcnemar, wilson
from tests.bench.chat import Answer
from tests.bench.masks.illegal_mass import MASKS, ROOT
from tests.bench.orders import Order, sample
from tests.bench.published import publish
from tests.bench.techniques.reading import exact, read
from tests.bench.techniques.wire import wire_schema

FORMS = ("evidence", "schema")
Row = dict[str, Any]


def asked(order: Order, form: str) -> Row:
    """What the library's side needs to know of one order."""
    row: Row = {"id": order.id, "menu": order.menu.id, "form": form, "messages": order.messages()}
    row["seed"] = crc32(order.id.encode())
    if form == "schema":
        return {**row, "schema": wire_schema(order.menu)}
    return {**row, "lark": build_mask(order.evidence(), order.labels, "bench").lark}


def judged(row: Row, order: Order) -> Row:
    """Whether greedy's cart and the heaviest text's are exact, and the weight on those that are."""
    weights: defaultdict[str, float] = defaultdict(float)
    finishes = {}
    for particle in row["particles"]:
        weights[particle["text"]] += particle["share"]
        finishes[particle["text"]] = particle["finish"]
    right = {text: _right(text, finish, order) for text, finish in finishes.items()}
    heaviest = max(weights, key=lambda text: weights[text], default=None)
    greedy = row["greedy"]
    return {
        "greedy": _right(greedy["text"], greedy["finish"], order),
        "heaviest": heaviest is not None and right[heaviest],
        "weight_on_exact": sum(weight for text, weight in weights.items() if right[text]),
        "dead_ends": heaviest is None,
        "same_text": heaviest == greedy["text"],
        "texts": len(weights),
        "contexts": row["contexts"] / greedy["tokens"],
    }


def _right(text: str, finish: str, order: Order) -> bool:
    return exact(read(Answer(text, finish, 0, 0, 0, 0.0), order.labels, order.said), order.gold)


def summary(found: Sequence[Row], particles: int) -> Row:
    """Exact carts of both with 95% intervals, and what the particles asked of the model, as a multiple of the
    tokens of greedy's answer."""
    lost = sum(one["greedy"] and not one["heaviest"] for one in found)
    won = sum(one["heaviest"] and not one["greedy"] for one in found)
    exact_of = {way: sum(one[way] for one in found) for way in ("greedy", "heaviest")}
    return {
        "orders": len(found),
        "particles": particles,
        **{f"{way}_exact": [count, *wilson(count, len(found))] for way, count in exact_of.items()},
        "won_lost_against_greedy": [won, lost],
        "p": round(mcnemar(lost, won), 4),
        "weight_on_exact": round(fmean(one["weight_on_exact"] for one in found), 4),
        "heaviest_is_greedys": sum(one["same_text"] for one in found),
        "no_particle_left": sum(one["dead_ends"] for one in found),
        "texts_an_order": round(fmean(one["texts"] for one in found), 2),
        "contexts_to_greedys_tokens": round(fmean(one["contexts"] for one in found), 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True, help="of an environment with genlm-control")
    parser.add_argument("--model", type=Path, required=True, help="folder of weights in safetensors")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0])
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--particles", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "aligned")
    parser.add_argument("--out", type=Path, default=MASKS / "aligned.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    rows = args.work / f"{args.model.name}-{args.form}-{args.particles}.jsonl"
    done = {row["id"] for row in kept_lines(rows)}
    orders = {order.id: order for order in sample(args.orders)}
    todo = [asked(order, args.form) for order in orders.values() if order.id not in done]
    if todo:
        file = args.work / "orders.json"
        file.write_text(json.dumps(todo), encoding="utf-8")
        words = [str(args.python), "-m", "tests.bench.aligned.particles", "--model", str(args.model)]
        words += ["--orders", str(file), "--out", str(rows), "--particles", str(args.particles)]
        offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
        subprocess.run([*words, "--minutes", str(args.minutes)], check=True, env=offline)
    kept = [row for row in kept_lines(rows) if row["id"] in orders]
    if not kept:
        print("no order was answered in this time; the same command with more --minutes", file=sys.stderr)
        return 2
    told = {"form": args.form, "date": time.strftime("%Y-%m-%d", time.gmtime()), **kept[-1]["versions"]}
    found = summary([judged(row, orders[row["id"]]) for row in kept], args.particles)
    publish(args.out, f"{args.model.name}, {args.form}", {**told, **found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
