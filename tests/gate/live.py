"""Run sixty recorded orders on the embedded engines, to see whether the tape still matches them."""

from __future__ import annotations

import random
from pathlib import Path

from tests.gate.engines import taped_tools
from tests.gate.record import live_engines, recordings
from tests.gate.replay import Comparison
from tests.gate.rows import outcome, run
from tests.gate.sets import chosen
from tests.gate.store import DATA, recorded
from tests.gate.tape import Tape

# From two menus, since each takes half a minute to prefill.
SAMPLES = {"golden": 40, "golden-clean": 20}
SEED = 47


def compare_live(work: Path, data: Path = DATA) -> list[Comparison]:
    """Run the samples live and compare them with the baseline. An order that an engine failed, as on a busy
    machine, counts as missing."""
    results = []
    with live_engines(work, jobs=1) as live:
        for one in chosen(list(SAMPLES)):
            baseline = recorded(one.name, data)[1]
            known = [order for order in one.orders(None) if order.id in baseline]
            drawn = random.Random(SEED).sample(known, min(SAMPLES[one.name], len(known)))
            result, audio = Comparison(f"{one.name}, live", one.sealed), recordings(one, drawn, work, None)
            for order in sorted(drawn, key=lambda order: order.id):
                prediction = run(order, taped_tools(live.settings, Tape(), live), audio)
                if "error" in prediction:
                    result.missing += 1
                else:
                    result.pairs.append((baseline[order.id], outcome(order, prediction)))
            results.append(result)
    return results
