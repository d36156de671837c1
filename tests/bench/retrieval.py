"""Recall and cost of retrieval: are the right things among the candidates, and does a long menu cost more?

    python tests/bench/retrieval.py [--orders 200]

Recall is over every gold item, size and option of the golden sets (text, both halves: nothing is decoded or
shown). Cost is of one order on menus of 40, 2,000 and 10,000 items, in one run: reading the words, writing
the grammar, compiling it, and the size of both. The larger menus are the shipped one with more items of
made-up names; the orders are the golden ones of that menu.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from schemas.evidence import Evidence
from schemas.menu import Item, Menu
from services.engines.decoding.prompt import messages
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.reading.order import read_order

ROOT = Path(__file__).resolve().parents[2]
MENUS = ("harbor-coffee", "copper-skillet")
SIZES = (40, 2_000, 10_000)
SYLLABLES = "bra cho del fen gor hip jun kel lom mip nar oxo pil quo ras sut tev ulm vab wex yor zin".split()


def menu_of(name: str) -> Menu:
    return Menu.parse(json.loads((ROOT / "infra" / "samples" / "menus" / f"{name}.json").read_text()))


def gold(name: str, half: str) -> list[dict[str, Any]]:
    text = (ROOT / "tests" / "golden" / f"{name}-{half}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def recall(half: str) -> dict[str, Any]:
    """Of all gold values, how many the mask opens; and in how many orders it opens all of them."""
    values = found = orders = whole = 0
    for name in MENUS:
        menu = menu_of(name)
        for row in gold(name, half):
            evidence = read_order(row["utterance"], menu, 1)
            options = {(o.group, o.id) for o in evidence.options}
            hits = []
            for line in row["cart"]["lines"]:
                if line.get("kind", "item") == "item":
                    hits.append(line["sku"] in evidence.items)
                    hits += [line["size"] in evidence.sizes] if line["size"] else []
                    hits += [(o["group"], o["id"]) in options for o in line["options"]]
            values, found = values + len(hits), found + sum(hits)
            orders, whole = orders + 1, whole + all(hits)
    return {"values": values, "open": found, "orders": orders, "orders_with_all_open": whole}


def grown(menu: Menu, items: int, rng: random.Random) -> Menu:
    """The menu with made-up items added, up to `items`."""
    template = menu.items[0]
    names: set[str] = set()
    while len(names) < items - len(menu.items):
        words = ("".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))) for _ in range(rng.randint(1, 3)))
        names.add(" ".join(words))
    more = [Item(**{**template.model_dump(), "sku": f"x{i}", "name": name, "aliases": ()})
            for i, name in enumerate(sorted(names))]  # fmt: skip
    return menu.model_copy(update={"items": (*menu.items[:items], *more)})


def timed(samples: list[float]) -> dict[str, float]:
    high = sorted(samples)[int(len(samples) * 0.95)]
    return {"p50": round(statistics.median(samples), 2), "p95": round(high, 2)}


def cost(items: int, texts: list[str]) -> dict[str, Any]:
    """Milliseconds of each step for one order, and the bytes of its grammar and its part of the prompt."""
    menu = grown(menu_of(MENUS[0]), items, random.Random(7))
    labels, tokenizer = Labels(menu), LLTokenizer("byte")
    read_order("hello", menu, 1)  # the lexicon is built once a menu version
    steps: dict[str, list[float]] = {"read_order": [], "write grammar": [], "compile": []}
    sizes: dict[str, list[float]] = {"grammar bytes": [], "prompt bytes of the order": []}
    for text in texts:
        start = time.perf_counter()
        evidence: Evidence = read_order(text, menu, 1)
        read = time.perf_counter()
        mask = build_mask(evidence, labels, "bench")
        written = time.perf_counter()
        assert not LLMatcher(tokenizer, mask.lark).get_error()
        done = time.perf_counter()
        for name, taken in zip(steps, (read - start, written - read, done - written), strict=True):
            steps[name].append(taken * 1000)
        sizes["grammar bytes"].append(len(mask.lark))
        sizes["prompt bytes of the order"].append(len(messages(evidence, labels)[-1]["content"]))
    return {
        "items": items,
        **{f"{name} ms": timed(samples) for name, samples in steps.items()},
        **{name: timed(samples)["p50"] for name, samples in sizes.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=82, help="how many orders a menu size is timed on")
    args = parser.parse_args()
    texts = [row["utterance"] for row in gold(MENUS[0], "tuned")][: args.orders]
    halves = {half: recall(half) for half in ("tuned", "sealed")}
    print(json.dumps({"recall": halves, "cost": [cost(items, texts) for items in SIZES]}, indent=1))


if __name__ == "__main__":
    main()
