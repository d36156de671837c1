"""Random weights under the mask, on a real vLLM: is any answer invalid?

    python -m tests.bench.masks.random_weights --vllm VLLM/bin/python [--orders 10000] [--vocabulary 8192]

A model that knows nothing has no reason to write a cart, so every valid one is the mask's doing. It has the
architecture, hidden size and tokenizer of the 0.5B model, but by default two layers and the first 8,192
tokens of the vocabulary with their merges (a whole byte-level BPE in itself), since two cores have to do;
`--layers 0 --vocabulary 0` has all of both.
Orders are the tuned golden rows; temperature is 1, the other ways of sampling are mixed.

Each answer is judged four times: by the mask here, by the reference that shares no code with it, as a
`CartDraft`, and against the menu. Some orders are asked without the mask as well. Every answer is appended
to a file of the work folder, so a run that was cut off goes on; the report is made from that file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.settings import settings
from schemas.cart import CartDraft, ItemLine
from schemas.errors import DecodeInvalid
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.engines.masks.mask import Mask
from services.evaluation.statistics import wilson
from services.reading.order import read_order
from tests.bench.masks.random_server import LAYERS, versions, vllm, write_model
from tests.bench.retrieval import MENUS, gold, menu_of
from tests.fuzz.reference import cart_of, read

ROOT = Path(__file__).resolve().parents[3]
MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"


@dataclass(frozen=True)
class Order:
    """One golden row, ready to be asked."""

    id: str
    evidence: Evidence
    labels: Labels
    mask: Mask

    @property
    def menu(self) -> Menu:
        return self.evidence.menu


def orders() -> list[Order]:
    made = []
    for name in MENUS:
        labels = Labels(menu_of(name))
        for row in gold(name, "tuned"):
            evidence = read_order(row["utterance"], labels.menu, 1)
            made.append(Order(row["id"], evidence, labels, build_mask(evidence, labels, "random")))
    return made


def sampling(number: int) -> dict[str, Any]:
    """How one decode samples; the number is its seed, so that a run can be repeated."""
    rng = random.Random(number)
    return {
        "temperature": 1.0,
        "seed": number,
        "top_p": rng.choice((0.9, 0.95, 1.0)),
        "repetition_penalty": rng.choice((1.0, 1.1, 1.3)),
        "presence_penalty": rng.choice((0.0, 0.5, 1.5)),
        "frequency_penalty": rng.choice((0.0, 0.0, 0.7)),
    }


def judge(order: Order, text: str, finish: str) -> str:
    """`valid`, or the first thing that is wrong with the answer."""
    if finish != "stop":
        return f"ended by {finish}"
    if not order.mask.accepts(text):
        return "outside the mask"
    if not read(text.encode(), cart_of(order.evidence)).whole:
        return "outside the reference"
    try:
        draft = order.labels.from_wire(text)
    except DecodeInvalid:
        return "no cart"
    return "valid" if resolves(draft, order.menu) else "not on this menu"


def resolves(draft: CartDraft, menu: Menu) -> bool:
    """Whether every item, size and option is one that the menu has, and has together."""
    for line in draft.lines:
        if not isinstance(line, ItemLine):
            continue
        item = menu.item(line.sku)
        if item is None or (line.size is not None and line.size not in item.size_ids):
            return False
        for option in line.options:
            group = menu.group(option.group)
            if group is None or group.id not in item.option_groups:
                return False
            if option.id not in {known.id for known in group.options}:
                return False
    return True


class Run:
    """Asks what was not asked yet, until all is done or the time is over; one line of `file` an answer."""

    def __init__(self, url: str, file: Path, in_flight: int, seconds: float) -> None:
        self._file = file
        self._until = time.monotonic() + seconds
        self._room = asyncio.Semaphore(in_flight)
        self._orders = orders()
        limits = httpx.Limits(max_connections=in_flight)
        self._http = httpx.AsyncClient(base_url=url, timeout=600.0, limits=limits, trust_env=False)

    async def all(self, masked: int, free: int) -> None:
        done = {(row["number"], row["masked"]) for row in rows(self._file)}
        wanted = [(n, False) for n in range(free)] + [(n, True) for n in range(masked)]
        with self._file.open("a", encoding="utf-8") as out:
            async with self._http:
                await asyncio.gather(*(self._one(*what, out) for what in wanted if what not in done))

    async def _one(self, number: int, masked: bool, out: Any) -> None:
        async with self._room:
            if time.monotonic() > self._until:
                return
            order = self._orders[number % len(self._orders)]
            how = sampling(number)
            body = {
                "model": "random",
                "messages": [{"role": "user", "content": order.evidence.transcript}],
                "max_tokens": order.mask.longest + 8,
                **how,
                **({"structured_outputs": {"grammar": order.mask.lark}} if masked else {}),
            }
            answer = (await self._http.post("/v1/chat/completions", json=body)).raise_for_status().json()
            choice = answer["choices"][0]
            text, finish = choice["message"]["content"] or "", choice["finish_reason"]
            verdict = judge(order, text, finish)
            tokens = answer["usage"]["completion_tokens"]
            row = {
                "number": number,
                "order": order.id,
                "masked": masked,
                "tokens": tokens,
                "verdict": verdict,
            }
            row["sampling"] = how
            if masked:
                row["text"] = text
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()


def rows(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def summary(answered: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of one half, masked or free."""
    valid = sum(row["verdict"] == "valid" for row in answered)
    low, high = wilson(len(answered) - valid, len(answered))
    return {
        "decodes": len(answered),
        "valid": valid,
        "invalid": len(answered) - valid,
        "invalid_share_95": [round(low, 5), round(high, 5)],
        "verdicts": dict(Counter(row["verdict"] for row in answered).most_common()),
        "tokens": sum(row["tokens"] for row in answered),
        "orders": len({row["order"] for row in answered}),
        "different_texts": len({(row["order"], row.get("text")) for row in answered}),
        "sampling": {
            name: dict(Counter(str(row["sampling"][name]) for row in answered))
            for name in (
                "temperature",
                "top_p",
                "repetition_penalty",
                "presence_penalty",
                "frequency_penalty",
            )
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--vllm", type=Path, required=True, help="Python of the environment that has vLLM")
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--free", type=int, default=200, help="decodes without the mask")
    parser.add_argument("--vocabulary", type=int, default=8192, help="tokens; 0 for all")
    parser.add_argument("--layers", type=int, default=LAYERS, help="of the model, 0 for all of them")
    parser.add_argument("--weights", choices=("normal", "dummy"), default="normal")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3600.0, help="ask for this long; 0: report only")
    parser.add_argument("--work", type=Path, default=ROOT / ".saycart" / "random-weights")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks" / "random-weights.json")
    args = parser.parse_args()

    name = f"{args.weights}-{args.vocabulary or 'whole'}"
    name += "" if args.layers == LAYERS else f"-{args.layers or 'all'}-layers"
    folder = args.work / name
    config = write_model(folder, settings().models_dir / MODEL, args.vocabulary, args.layers)
    if args.weights == "normal" and not any(folder.glob("*.safetensors")):
        made = Path(__file__).with_name("random_model.py")
        subprocess.run([args.vllm, made, folder], check=True)
    file = args.work / f"{name}.jsonl"
    if args.seconds:
        with vllm(args.vllm, folder, args.in_flight, args.work / "vllm.log") as url:
            asyncio.run(Run(url, file, args.in_flight, args.seconds).all(args.orders, args.free))
    answered = rows(file)
    report = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    report[name] = {
        "masked": summary([row for row in answered if row["masked"]]),
        "free": summary([row for row in answered if not row["masked"]]),
        "shape": {key: config[key] for key in config if key.endswith("_size") or key.startswith("num_")},
        "in_flight": args.in_flight,
        "versions": versions(args.vllm),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, no GPU",
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report[name], indent=1))


if __name__ == "__main__":
    main()
