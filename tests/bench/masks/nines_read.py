"""Ten thousand different orders of all menus, read under the mask by the trained reader: does one fail?

    python -m tests.bench.masks.nines_read [--orders 10000] [--skip 0] [--minutes 60] [--model NAME]
    python -m tests.bench.masks.nines_read --vllm http://127.0.0.1:8430 --skip 2223    # of `make vllm-cpu`

The orders of `nines.py`, asked as the product asks its reader since ADR 69: the short form of the whole menu
as the mask, the rules' guess as the prediction, the reader's own server. Each answer is judged by the mask,
by `short_form.py`, which shares no code with it, as a `CartDraft`, and against the menu. Told too: in how
many answers the mask chose against the model, which would have left the form there or written another cart.

Of vLLM each answer is asked under the mask at once, where the product asks without it first (ADR 73), and is
not scored, so it isn't known in how many the mask chose.

Answers are kept as they come, and what was made of each menu; the same command goes on. The report is made
of the kept answers alone. Orders come in the same order each time: `--skip` passes over those that a run
elsewhere has asked, and is reported beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infra.observability.json_lines import kept_lines
from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.settings import Settings, settings
from schemas.errors import DecodeInvalid, DecodeTruncated
from schemas.evidence import Evidence
from services.bootstrap import Container
from services.checks.heard_words import with_heard
from services.checks.two_readers import guessed
from services.engines.decoding.calls import Calls
from services.engines.ports import CartDecoder
from services.engines.reader.adapters import made_for
from services.engines.reader.reading import Sheet, request
from services.engines.reader.short_form import Line
from services.engines.servers.embedded import reader_child, reader_served_at, served_at
from services.reading.order import read_order
from tests.bench.masks.nines import ROOT, VALID, Order, Row, left, run, summary
from tests.bench.masks.random_weights import resolves
from tests.bench.published import publish

STATES_BYTES = 4 * 2**30  # of all menus, some 17 MB each with the 0.5B and 40 with the 1.5B


def asked(order: Order, reader: CartDecoder) -> Row:
    """One answer, judged. Raises EngineUnavailable: then nothing is known of it."""
    evidence = read_order(order.said, order.menu, 1)
    row: Row = {"id": order.id, "menu": order.menu.id, "said": order.said}
    try:
        found = reader.read(evidence, None, guessed(evidence))
        assert found is not None, "no adapter serves this model"
        verdict = judged(found.lines, evidence)
    except (DecodeTruncated, DecodeInvalid) as error:
        return row | {"verdict": error.code, "why": error.detail, "text": error.quoted}
    except ValueError as error:
        return row | {"verdict": "no cart", "why": str(error)[:300], "text": found.text}
    return row | {
        "verdict": verdict,
        "text": found.text,
        "tokens": found.completion_tokens,
        "overruled": found.overruled,
        "seconds": round(found.seconds, 3),
    }


def judged(lines: Sequence[Line], evidence: Evidence) -> str:
    """`VALID`, or that the menu has no such cart. Raises ValueError where the lines are none."""
    draft = with_heard(lines, evidence)
    return VALID if resolves(draft, evidence.menu) else "not on this menu"


def asked_of_vllm(order: Order, calls: Calls, adapter: str, sheet: Sheet) -> Row:
    """The same of vLLM, under the mask from the first token on."""
    body = request(order.said, sheet, dialect="vllm", model="", adapter=adapter)
    document = calls.post("/v1/chat/completions", body)
    choice = document["choices"][0]
    text, ended = choice["message"]["content"] or "", choice["finish_reason"]
    row: Row = {"id": order.id, "menu": order.menu.id, "said": order.said, "text": text, "overruled": None}
    if ended != "stop":
        return row | {"verdict": "truncated", "why": str(ended)}
    if not sheet.mask.accepts(text):
        return row | {"verdict": "outside the mask"}
    try:
        verdict = judged(sheet.names.read(text), read_order(order.said, order.menu, 1))
    except ValueError as error:
        return row | {"verdict": "no cart", "why": str(error)[:300]}
    return row | {"verdict": verdict, "tokens": document["usage"]["completion_tokens"]}


def told(rows: list[Row]) -> dict[str, Any]:
    """The counts of `nines.py`, and in how many answers the mask chose against the model."""
    chosen = [row.get("overruled", 0) for row in rows]
    known = None if None in chosen else sum(map(bool, chosen))
    return summary(rows) | {"mask_chose_against_the_model": known}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--skip", type=int, default=0, help="of the first orders, which were asked before")
    parser.add_argument("--minutes", type=float, default=180.0, help="ask for so long; 0: report only")
    parser.add_argument("--vllm", default="", metavar="URL", help="of a vLLM server with the adapter")
    parser.add_argument("--in-flight", type=int, default=32, help="orders asked of vLLM at once")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "nines")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks" / "masks" / "nines.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    engine, behind = "vllm" if args.vllm else "", f"from {args.skip}" if args.skip else ""
    name = " ".join(filter(None, ("reader", engine, Path(args.model).stem, behind)))
    file = args.work / f"{name.replace(' ', '-')}.jsonl"
    todo = left(args.orders, file, skip=args.skip)
    if args.minutes and todo and args.vllm:
        _ask_vllm(todo, args.vllm, args.model, file, args.in_flight, args.minutes)
    elif args.minutes and todo:
        here = settings().model_copy(
            update={"llm_model": args.model, "reader": "all", "reader_states_bytes": STATES_BYTES}
        )
        _ask(todo, here, file, args.minutes)
    publish(args.out, name, told(kept_lines(file)))
    return 0


def _ask(todo: list[Order], here: Settings, file: Path, minutes: float) -> None:
    own = any_free()
    config = reader_served_at(served_at(here, own), own)
    states = file.with_suffix(".states")
    supervisor = Supervisor(file.with_suffix(".home"))
    supervisor.start([reader_child(config, own, file.with_suffix(".log"), states)])
    try:
        reader = Container(config).readers
        # One answer at a time is all that this server gives.
        run(todo, lambda order: asked(order, reader), file, 1, minutes)
    finally:
        supervisor.stop()


def _ask_vllm(todo: list[Order], url: str, model: str, file: Path, in_flight: int, minutes: float) -> None:
    calls = Calls(url, timeout_s=600, api_key=settings().llm_api_key)
    menus = {order.menu.id: order.menu for order in todo}
    made = {menu_id: Sheet(menu) for menu_id, menu in menus.items()}
    adapter = made_for(model)
    assert adapter is not None, "no adapter is made for this model"
    name = adapter.name
    run(todo, lambda order: asked_of_vllm(order, calls, name, made[order.menu.id]), file, in_flight, minutes)


if __name__ == "__main__":
    sys.exit(main())
