"""The reader's own server beside llama.cpp's, on the same orders in turns:

    python -m tests.bench.engine.one_pass [--rounds 3]

The sample orders of one menu, which both have read before: written by llama.cpp's server with the adapter,
written by the reader's own, checked by it, where the rules' cart is known, and of those that the rules settle
on checked by the smaller model first. Then what its memory is, and what the first order takes after a restart
that finds the menu on disk.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.settings import REPOSITORY, Settings, settings
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.bootstrap import Container
from services.checks.one_cart import undoubted_cart
from services.checks.two_readers import guessed
from services.cli.samples import load_menus, load_samples
from services.engines.ports import CartDecoder, Reading
from services.engines.servers.embedded import decode_server, reader_child, reader_served_at
from services.reading.order import read_order
from tests.bench.published import publish

MENU = "harbor-coffee"
OUT = REPOSITORY / "docs" / "benchmarks" / "one-pass.json"


def timed(
    who: CartDecoder, evidence: Evidence, *, expecting: bool, settled: bool = False
) -> tuple[float, Reading]:
    began = time.perf_counter()
    found = who.read(evidence, None, guessed(evidence) if expecting else None, settled=settled)
    assert found is not None
    return time.perf_counter() - began, found


def paired(config: Settings, orders: list[Evidence], rounds: int) -> dict[str, Any]:
    """Seconds of each way, an order and round a row; all have to come to the same text."""
    parts, rows, first_by_the_small = Container(config), [], []
    parts.decoder.warm(orders[0])
    parts.readers.warm(orders[0])
    for _ in range(rounds):
        for evidence in orders:
            theirs, first = timed(parts.decoder, evidence, expecting=False)
            written, second = timed(parts.readers, evidence, expecting=False)
            checked, third = timed(parts.readers, evidence, expecting=True)
            rows.append((theirs, written, checked, first.text == second.text == third.text))
            if undoubted_cart(evidence) is not None:
                small, fourth = timed(parts.readers, evidence, expecting=True, settled=True)
                by_it = "smollm2" in fourth.engine
                first_by_the_small.append((small, checked, by_it, fourth.text == third.text))
    columns, small = list(zip(*rows, strict=True)), list(zip(*first_by_the_small, strict=True))
    return {
        "orders": len(orders),
        "rounds": rounds,
        "same_text": sum(columns[3]),
        "decode_server_s_p50": round(statistics.median(columns[0]), 2),
        "written_s_p50": round(statistics.median(columns[1]), 2),
        "checked_s_p50": round(statistics.median(columns[2]), 2),
        "checked_to_decode_server_p50": round(statistics.median(r[2] / r[0] for r in rows), 2),
        "settled": len(first_by_the_small),
        "settled_checked_by_the_small": sum(small[2]),
        "settled_same_text": sum(small[3]),
        "settled_checked_s_p50": round(statistics.median(small[1]), 2),
        "settled_small_first_s_p50": round(statistics.median(small[0]), 2),
        "small_first_to_checked_p50": round(statistics.median(r[0] / r[1] for r in first_by_the_small), 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    menu = Menu.model_validate(load_menus()[MENU])
    said = [sample.row["utterance"] for sample in load_samples() if sample.row["menu"] == menu.id]
    orders = [read_order(text, menu, 1) for text in said]
    here = settings().model_copy(update={"llm_url": "", "reader": "all"})
    with decode_server(here) as config, tempfile.TemporaryDirectory(prefix="one-pass-") as name:
        folder, port = Path(name), any_free()
        child = reader_child(config, port, folder / "reader.log", folder / "states")
        config = reader_served_at(config, port)
        supervisor = Supervisor(folder)
        supervisor.start([child])
        figures = paired(config, orders, args.rounds)
        process = psutil.Process(supervisor.pid("reader"))
        figures["reader_memory_mb"] = round(process.memory_full_info().uss / 1e6)
        supervisor.stop()
        began = time.perf_counter()
        supervisor = Supervisor(folder)
        supervisor.start([child])
        figures["restart_s"] = round(time.perf_counter() - began, 1)
        seconds, found = timed(Container(config).readers, orders[0], expecting=True)
        figures["first_order_after_restart_s"] = round(seconds, 2)
        figures["first_order_after_restart_cached_tokens"] = found.cached_tokens
        figures["load"] = round(os.getloadavg()[0], 1)
        supervisor.stop()
    publish(args.out, Path(here.llm_model).stem, figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
