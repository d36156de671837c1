"""Ten thousand different orders of all menus, decoded under the mask by a real model: does one fail?

    python -m tests.bench.masks.nines [--orders 10000] [--minutes 30] [--url URL --dialect vllm --model NAME]
    python -m tests.bench.masks.nines --model smollm2-135m-instruct-q4_1.gguf \\
        --slots 4 --in-flight 4 --threads 1

The product's own prompt, mask and client; every answer is decoded whole, settled or not, greedily. Orders are
those told and taught of every menu that is not sealed, the rest said by the generator; no two of a menu are
alike. Menus take turns, a block of orders each, so that a run that was stopped has seen all of them.

Each answer is judged four times: by the mask here, by the reference that shares no code with it
(`tests/fuzz`), as a `CartDraft`, and against the menu. Answers are kept as they come, and the same command
goes on from them; the report is made of that file alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from infra.observability.json_lines import kept_lines
from infra.settings import settings
from schemas.errors import DecodeInvalid, DecodeTruncated, EngineError, EngineUnavailable
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.engines.decoding.prompt import messages
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.engines.servers.embedded import decode_server
from services.evaluation.statistics import quantile, wilson
from services.reading.order import clean, read_order
from services.training.orders import Shop, generated, shops
from tests.bench.masks.random_weights import resolves
from tests.bench.published import publish
from tests.fuzz.reference import cart_of, read

ROOT = Path(__file__).resolve().parents[3]
BLOCK = 32
"""Orders of one menu in a row: its prompt is read once for them."""
SEED = 19
VALID = "valid"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """One order; its evidence is worked out when its turn comes."""

    id: str
    menu: Menu
    said: str


def orders(count: int) -> list[Order]:
    """The first `count` in the order in which they are asked: always the same ones."""
    known = [*shops("train"), *shops("tune")]
    blocks = [list(_blocks(shop, 1 + 2 * count // len(known))) for shop in known]
    turns = (block for turn in zip_longest(*blocks, fillvalue=[]) for block in turn)
    return [order for block in turns for order in block][:count]


def _blocks(shop: Shop, most: int) -> Iterator[list[Order]]:
    said: dict[str, str] = {}
    for row in [*shop.rows, *generated(shop, most, SEED)]:
        said.setdefault(clean(row.said), row.id)
    found = [Order(row_id, shop.menu, text) for text, row_id in said.items()][:most]
    for start in range(0, len(found), BLOCK):
        yield found[start : start + BLOCK]


def asked(order: Order, completions: Completions) -> Row:
    """One answer, judged. Raises EngineUnavailable: then nothing is known of it."""
    evidence, labels = read_order(order.said, order.menu, 1), Labels(order.menu)
    mask = build_mask(evidence, labels, "nines")
    row: Row = {"id": order.id, "menu": order.menu.id, "said": order.said}
    try:
        done = completions.complete(messages(evidence, labels), mask)
    except EngineUnavailable:
        raise
    except (DecodeTruncated, DecodeInvalid, EngineError) as error:
        return row | {"verdict": error.code, "why": error.detail, "text": error.quoted}
    return row | {
        "verdict": judged(done.text, evidence, labels),
        "text": done.text,
        "tokens": done.completion_tokens,
        "seconds": round(done.seconds, 3),
    }


def judged(text: str, evidence: Evidence, labels: Labels) -> str:
    """`valid`, or what is wrong with an answer that the mask accepts."""
    if not read(text.encode(), cart_of(evidence)).whole:
        return "outside the reference"
    try:
        draft = labels.from_wire(text)
    except DecodeInvalid:
        return "no cart"
    return VALID if resolves(draft, evidence.menu) else "not on this menu"


def left(count: int, file: Path, *, skip: int = 0) -> list[Order]:
    """Those of the first `count` orders, without the first `skip`, that have no answer yet."""
    done = {(row["menu"], row["said"]) for row in kept_lines(file)}
    return [order for order in orders(count)[skip:] if (order.menu.id, order.said) not in done]


def run(todo: list[Order], ask: Callable[[Order], Row], file: Path, in_flight: int, minutes: float) -> None:
    """Ask until all is done or the time is over; a server that goes away ends the run."""
    until = time.monotonic() + 60 * minutes

    def one(order: Order) -> Row | None:
        return ask(order) if time.monotonic() < until else None

    with file.open("a", encoding="utf-8") as out, ThreadPoolExecutor(in_flight) as pool:
        for number, row in enumerate(pool.map(one, todo), 1):
            if row is None:
                break
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            if number % 100 == 0:
                print(f"{number} of {len(todo)}", flush=True)


def summary(rows: list[Row]) -> dict[str, Any]:
    """Counts, and the largest share of failures that they leave possible (95%)."""
    failed = sum(row["verdict"] != VALID for row in rows)
    tokens = [row["tokens"] for row in rows if "tokens" in row]
    return {
        "orders": len({(row["menu"], row["said"]) for row in rows}),
        "menus": len({row["menu"] for row in rows}),
        "failures": failed,
        "failures_95": wilson(failed, len(rows)),
        "verdicts": dict(Counter(row["verdict"] for row in rows).most_common()),
        "tokens": sum(tokens),
        "tokens_p50_max": [quantile(tokens, 0.5), max(tokens)] if tokens else None,
        "different_carts": len({row["text"] for row in rows}),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=180.0, help="ask for so long; 0: report only")
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2, help="of the embedded server")
    parser.add_argument("--slots", type=int, default=2, help="of the embedded server, a prompt each")
    parser.add_argument("--context", type=int, default=4096, help="tokens of each of its slots")
    parser.add_argument("--url", default="", help="a server that runs, in place of the embedded one")
    parser.add_argument("--dialect", default="llama.cpp", choices=["llama.cpp", "vllm"])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "nines")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks" / "masks" / "nines.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    name = f"{args.dialect} {Path(args.model).stem}"
    file = args.work / f"{name.replace(' ', '-')}.jsonl"
    todo = left(args.orders, file)
    server = {"llm_threads": args.threads, "llm_slots": args.slots, "llm_context": args.context}
    asked_of = {"llm_url": args.url, "llm_dialect": args.dialect, "llm_model": args.model, "reader": "off"}
    here = settings().model_copy(update=asked_of | server)
    if args.minutes and todo:
        with decode_server(here) as config:
            calls = Calls(config.llm_url, timeout_s=600, api_key=config.llm_api_key)
            completions = Completions(calls, config.llm_dialect, config.llm_model)
            run(todo, lambda order: asked(order, completions), file, args.in_flight, args.minutes)
    publish(args.out, name, summary(kept_lines(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
