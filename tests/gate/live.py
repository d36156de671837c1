"""Sixty recorded orders asked again of the embedded engines: does the tape still say what they do?"""

from __future__ import annotations

import random
from pathlib import Path

from tests.gate.engines import taped_tools
from tests.gate.record import live_engines, recordings
from tests.gate.replay import Compared
from tests.gate.rows import outcome, run
from tests.gate.sets import chosen
from tests.gate.store import DATA, recorded
from tests.gate.tape import Tape

# Of two menus, since each takes half a minute to read.
SAMPLES = {"golden": 40, "golden-clean": 20}
SEED = 47


def compare_live(work: Path, data: Path = DATA) -> list[Compared]:
    """Run the samples live, and hold them against the baseline. One that an engine failed, such as on a busy
    machine, is counted as missing and not compared."""
    results = []
    with live_engines(work, jobs=1) as live:
        for one in chosen(list(SAMPLES)):
            baseline = recorded(one.name, data)[1]
            known = [order for order in one.orders(None) if order.id in baseline]
            drawn = random.Random(SEED).sample(known, min(SAMPLES[one.name], len(known)))
            found, audio = Compared(f"{one.name}, live", one.sealed), recordings(one, drawn, work, None)
            for order in sorted(drawn, key=lambda order: order.id):
                made = run(order, taped_tools(live.settings, Tape(), live), audio)
                if "error" in made:
                    found.missing += 1
                else:
                    found.pairs.append((baseline[order.id], outcome(order, made)))
            results.append(found)
    return results
