"""Tables of the claim's bench, from its figures: what the report prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.bench.claim.verdicts import percent, span, verdicts
from tests.bench.techniques.report import Table

SAYS = {
    "old": "old: prompt, parse, repair",
    "masked": "masked, item free",
    "masked-item": "masked, item listed",
    "ours-whole": "ours, all asked and whole",
    "ours": "ours",
    "ours-reader": "ours, with the learned reader",
}
Found = dict[str, Any]


def overview_table(engines: Found) -> Table:
    """All settings of all engines, a line each: of each count the old pipeline's, the masked one's (item
    free), ours and ours with the learned reader; of p95 the first and the last two."""
    table = [["engine and model", "setting", "orders", "first answers that fail: old, masked, ours",
              "failed after repairs", "exact: old, masked, ours, with the reader",
              "wrong and unseen", "p95 s: old, ours, with the reader"]]  # fmt: skip
    of = ("old", "masked", "ours", "ours-reader")
    for name, told in engines.items():
        for at in told["settings"]:
            cells = at["cells"]
            p95 = [f"{cells[m]['total']['p95']['s']:.1f}" if m in cells else "–" for m in of if m != "masked"]
            orders = {cell["orders"] for cell in cells.values()}
            table.append(
                [_named(name), at["setting"], " to ".join(map(str, sorted({min(orders), max(orders)}))),
                 _hits(cells, "first_answer_failures", of[:3]), _hits(cells, "failures", of[:1]),
                 _hits(cells, "exact", of), _hits(cells, "silent", of), ", ".join(p95)]
            )  # fmt: skip
    return table


def _named(engine: str) -> str:
    """An engine's folder as readers know it: "vLLM, 1.5B"."""
    dialect, _, model = engine.partition("-")
    size = re.search(r"[\d.]+b\b", model)
    return f"{'vLLM' if dialect == 'vllm' else dialect}, {size[0].upper() if size else model}"


def _hits(cells: Found, what: str, methods: tuple[str, ...]) -> str:
    return ", ".join(str(cells[m][what]["hits"]) if m in cells else "–" for m in methods)


def cost_table(cells: Found) -> Table:
    """Times and tokens of each pipeline in one setting."""
    table = [["pipeline", "orders", "p50 s (95%)", "p95 s (95%)", "p50 / p95 after hearing", "asked", "calls",
              "tokens out", "of the prompt, cached", "repair: orders, tokens, s"]]  # fmt: skip
    for name, f in cells.items():
        p50, p95, rest = f["total"]["p50"], f["total"]["p95"], f["after_hearing"]
        repair = (
            f"{f['repaired']['hits']}, {f['repair_tokens']}, {f['repair_s']:.1f}" if name == "old" else "–"
        )
        cached = f"{f['cached_tokens'] / f['prompt_tokens']:.0%}" if f["prompt_tokens"] else "–"
        table.append(
            [SAYS[name], str(f["orders"]), _timed(p50), _timed(p95),
             f"{rest['p50']['s']:.2f} / {rest['p95']['s']:.2f}", f"{f['asked']['hits']}", f"{f['calls']:.2f}",
             f"{f['tokens']:.0f}", cached, repair]
        )  # fmt: skip
    return table


def truth_table(cells: Found) -> Table:
    """Failures by kind, and what the carts are worth."""
    table = [["pipeline", "first answers that fail (95%)", "of them", "after repairs",
              "as strictly as ours (95%)", "exact carts (95%)", "pass unseen", "of them wrong",
              "items wrong", "of them no name of the menu"]]  # fmt: skip
    for name, f in cells.items():
        kinds = ", ".join(f"{n} {kind}" for kind, n in f["first_kinds"].items())
        table.append(
            [SAYS[name], _shared(f["first_answer_failures"]), kinds or "–", str(f["failures"]["hits"]),
             _shared(f["strict_failures"]), _shared(f["exact"]), str(f["passed"]["hits"]),
             str(f["silent"]["hits"]), f"{f['wrong_items']} of {f['items']}", f"{f['unknown_items']}"]
        )  # fmt: skip
    return table


def gain_table(gain: Found) -> Table:
    """What of the way from the old pipeline to ours saves how much."""
    says = {
        "repairs": "no repairs",
        "mask": "the mask itself (first answers, bare and masked)",
        "hearing": "hearing (ours hears doubtful recordings again)",
        "form": "our prompt, cart, evidence and checks, all asked",
        "settled": "settled orders are not asked",
        "jumped": "of open orders only the choices are decoded",
    }
    table = [["step", "mean s saved an order", "share of the gain"]]
    for name, seconds in gain["steps"].items():
        part = f"{gain['shares'][name]:.0%}" if gain["shares"] else "–"
        table.append([says[name], f"{seconds:+.2f}", part])
    return [*table, ["all", f"{gain['saved_s']:+.2f}", f"of {gain['mean_s']['old']:.2f} s"]]


def nines_table(rows: list[Found]) -> Table:
    """The arithmetic of nines."""
    table = [["share of failures", "calls a day", "failures a day", "one in", "repairs a day: tokens, hours"]]
    for row in rows:
        share = f"{percent(row['share'], 2)} ({row['says']})"
        repairs = f"{row['repair_tokens']:,}, {row['repair_hours']:,.1f}"
        one = _lasting(row["hours_between"])
        table.append([share, f"{row['calls']:,}", f"{row['failures']:,.1f}", one, repairs])
    return table


def _lasting(hours: float) -> str:
    """A time in a unit that suits it."""
    for unit, of_one in (("days", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= 2 * of_one:
            return f"{hours / of_one:.0f} {unit}"
    return f"{hours * 3600:.1f} s"


def tables(found: Found) -> Iterator[tuple[str, Table]]:
    """Every table with its heading."""
    yield "all settings", overview_table(found["engines"])
    for name, told in found["engines"].items():
        for at in told["settings"]:
            head, cells = f"{name}: {at['setting']}", at["cells"]
            ours = "ours" if "ours" in cells else "ours-reader"
            told_by = verdicts(cells, at["old_against"], ours)
            yield f"{head}: the claim", [["the claim", "seen", "verdict"], *map(list, told_by)]
            yield f"{head}: failures and carts", truth_table(cells)
            yield f"{head}: time and tokens", cost_table(cells)
            if at["gain"]:
                yield f"{head}: what the gain is made of", gain_table(at["gain"])
    yield "the arithmetic of nines", nines_table(found["nines"])


def _timed(one: Found) -> str:
    return f"{one['s']:.2f} ({one['ci'][0]:.2f}–{one['ci'][1]:.2f})"


def _shared(one: Found) -> str:
    return f"{one['hits']} of {one['of']} ({span(one['ci'])})"
