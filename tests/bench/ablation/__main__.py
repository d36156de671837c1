"""Each lever of the pipeline by itself, on the tuned half of the golden text.

    python -m tests.bench.ablation [--out FOLDER] [--orders N] [--every N] [--only NAME,NAME]

Every variant goes through the steps of `saycart eval`: retrieve, decode, tidy, validate, triage. The model is
asked for N orders at even steps, the same for every variant; what a variant accepts without asking it is
counted over all. Answers of the model are kept in OUT/answers, so a run that was stopped goes on; rows
of a variant are written anew to OUT/NAME.jsonl each time. Then: `python -m tests.bench.ablation.report`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from infra.settings import settings
from schemas.compare import canonical_draft
from schemas.errors import EngineUnavailable
from services.bootstrap import bootstrap
from services.checks.one_cart import one_cart
from services.checks.tidy import drop_echoes
from services.engines.servers.embedded import decode_server
from services.engines.servers.llama_server import OPENMP_ENV
from services.evaluation.figures import judge
from services.evaluation.run import predict
from services.pipeline.ports import Tools
from tests.bench.ablation.decoder import KeptCalls, LeverDecoder, lever_decoder
from tests.bench.ablation.levers import BY_NAME, FULL, VARIANTS, Variant
from tests.bench.ablation.prompts import TUNED
from tests.bench.orders import Order, sample

ALL = 1000
CHECKED = 20


def judged(variant: Variant, order: Order, tools: Tools, calls: KeptCalls) -> dict[str, Any]:
    """One order through one variant: is its cart right, would it be accepted, what was asked of a model."""
    gold = {"id": order.id, "utterance": order.said, "cart": {"lines": order.gold}}
    calls.calls = calls.tokens = 0
    with variant.switched():
        scored = judge(gold, predict(gold, order.menu, tools, None))
    return {
        "id": order.id,
        "decoded": EngineUnavailable.code not in scored.predicted["reasons"],
        "exact": scored.exact,
        "accepted": not scored.review,
        "calls": calls.calls,
        "completion_tokens": calls.tokens,
        "gold_lines": scored.score.gold_lines,
        "right_lines": scored.score.equal_lines,
        "reasons": scored.predicted["reasons"],
        "codes": sorted(scored.codes),
    }


def run(decoder: LeverDecoder, orders: set[str], tools: Tools, calls: KeptCalls, out: Path) -> None:
    """The model is asked for those of `orders`. Of a variant that needs no model for some, the rest follows;
    its rows are written when the last is done.

    Raises:
        RuntimeError: the server did not answer, so the row would say nothing.
    """
    started, variant, rows = time.monotonic(), decoder.variant, []
    for order in sample(ALL, TUNED):
        sampled = order.id in orders
        if not sampled and not variant.forced:
            continue
        decoder.asks = sampled
        row = {**judged(variant, order, tools, calls), "sampled": sampled}
        if sampled and not row["decoded"]:
            raise RuntimeError(f"{order.id} was not decoded; is the decode server up?")
        rows.append(row)
    (out / f"{variant.name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{time.monotonic() - started:5.0f} s {variant.name}: {told(rows)}", flush=True)


def told(rows: list[dict[str, Any]]) -> str:
    own, accepted = [row for row in rows if row["sampled"]], [row for row in rows if row["accepted"]]
    return (
        f"{sum(row['exact'] for row in own)} of {len(own)} exact; {len(accepted)} of {len(rows)} accepted, "
        f"{sum(not row['exact'] for row in accepted)} of them wrong"
    )


def check(decoder: LeverDecoder, out: Path) -> None:
    """Decode orders whose words leave one cart, and count those where the model's is that one."""
    settled = [order for order in sample(ALL, TUNED) if order.evidence().plain]
    step = max(1, len(settled) // CHECKED)
    rows = []
    decoder.variant, decoder.always, decoder.asks = FULL, True, True
    for order in settled[::step][:CHECKED]:
        evidence = order.evidence()
        draft, _ = drop_echoes(decoder.decode(evidence).draft, evidence)
        rows.append({"id": order.id, "same": canonical_draft(draft) == canonical_draft(one_cart(evidence))})
    (out / "check.json").write_text(json.dumps(rows) + "\n")
    print(
        f"decoded though nothing is open: {sum(r['same'] for r in rows)} of {len(rows)} the same", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("reports/ablation"))
    parser.add_argument("--orders", type=int, default=ALL, help="of each variant, at even steps")
    parser.add_argument("--every", type=int, default=1, help="of these, only each so-many-th")
    parser.add_argument("--only", default=",".join(variant.name for variant in VARIANTS))
    parser.add_argument("--check", action="store_true", help="decode some whose words leave one cart, too")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    os.environ.update(OPENMP_ENV)
    args.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        config = stack.enter_context(decode_server(settings()))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        calls = KeptCalls(config.llm_url, args.out / "answers", key=config.llm_api_key)
        decoder = lever_decoder(config.llm_url, config.llm_model, calls)
        wired = bootstrap(config.model_copy(update={"home": home, "skip_settled": False})).tools
        tools = replace(wired, decoder=lambda: decoder)
        orders = {order.id for order in sample(args.orders, TUNED)[:: args.every]}
        for name in args.only.split(","):
            decoder.variant = BY_NAME[name]
            run(decoder, orders, tools, calls, args.out)
        if args.check:
            check(decoder, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
