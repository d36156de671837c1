"""Ten thousand different orders of all menus, read under the mask by the trained reader: does one fail?

    python -m tests.bench.nines_read [--orders 10000] [--skip 0] [--minutes 60] [--model NAME]

The orders of `nines.py`, asked as the product asks its reader since ADR 69: the short form of the whole menu
as the mask, the rules' guess as the prediction, the reader's own server. Each answer is judged by the mask,
by `short_form.py`, which shares no code with it, as a `CartDraft`, and against the menu. Told too: in how
many answers the mask chose against the model, which would have left the form there or written another cart.

Answers are kept as they come, and what was made of each menu; the same command goes on. The report is made
of the kept answers alone. Orders come in the same order each time: `--skip` passes over those that a run
elsewhere has asked, and is reported beside it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from infra.observability.json_lines import kept_lines
from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.settings import Settings, settings
from schemas.errors import DecodeInvalid, DecodeTruncated
from services.bootstrap import Container
from services.checks.heard_words import with_heard
from services.checks.two_readers import guessed
from services.engines.ports import CartDecoder
from services.engines.servers.embedded import reader_child, reader_served_at, served_at
from services.reading.order import read_order
from tests.bench.nines import ROOT, VALID, Order, Row, left, run, summary
from tests.bench.published import publish
from tests.bench.random_weights import resolves

STATES_BYTES = 4 * 2**30  # of all menus, some 17 MB each with the 0.5B and 40 with the 1.5B


def asked(order: Order, reader: CartDecoder) -> Row:
    """One answer, judged. Raises EngineUnavailable: then nothing is known of it."""
    evidence = read_order(order.said, order.menu, 1)
    row: Row = {"id": order.id, "menu": order.menu.id, "said": order.said}
    try:
        found = reader.read(evidence, None, guessed(evidence))
        assert found is not None, "no adapter serves this model"
        draft = with_heard(found.lines, evidence)
    except (DecodeTruncated, DecodeInvalid) as error:
        return row | {"verdict": error.code, "why": error.detail, "text": error.quoted}
    except ValueError as error:
        return row | {"verdict": "no cart", "why": str(error)[:300], "text": found.text}
    return row | {
        "verdict": VALID if resolves(draft, order.menu) else "not on this menu",
        "text": found.text,
        "tokens": found.completion_tokens,
        "overruled": found.overruled,
        "seconds": round(found.seconds, 3),
    }


def told(rows: list[Row]) -> dict[str, Any]:
    """The counts of `nines.py`, and in how many answers the mask chose against the model."""
    overruled = sum(bool(row.get("overruled")) for row in rows)
    return summary(rows) | {"mask_chose_against_the_model": overruled}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--skip", type=int, default=0, help="of the first orders, which were asked before")
    parser.add_argument("--minutes", type=float, default=180.0, help="ask for so long; 0: report only")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "nines")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks" / "masks" / "nines.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    name = f"reader {Path(args.model).stem}" + (f" from {args.skip}" if args.skip else "")
    file = args.work / f"{name.replace(' ', '-')}.jsonl"
    todo = left(args.orders, file, skip=args.skip)
    if args.minutes and todo:
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


if __name__ == "__main__":
    sys.exit(main())
