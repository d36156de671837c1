"""The engine's figures as data, a plot and tables, from what `tests.bench.engine` wrote; nothing is run.

python -m tests.bench.engine.report [--results FILE] [--out docs/benchmarks]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.evaluation.plots import Plot
from tests.bench.engine.__main__ import LEVELS
from tests.bench.pictures import write_svg
from tests.bench.techniques.report import Table, markdown

MODES = ("masked", "free")
KEPT_OUT = ("tokens", "texts")  # of every order: needed to run on, not to be read


def slim(found: Mapping[str, Any]) -> dict[str, Any]:
    """The results without each order's own text and length."""
    return {
        name: {key: value for key, value in figures.items() if key not in KEPT_OUT}
        for name, figures in found.items()
    }


def load_table(found: Mapping[str, Any]) -> Table:
    """One row a level and mode."""
    columns = "in flight,mask,orders,tokens/s,a CPU s,orders/s,p50 / p95 s,tokens an order"
    table = [columns.split(",")]
    rows = [(f"load {level} {mode}", level, mode == "masked") for level in LEVELS for mode in MODES]
    for name, level, masked in rows:
        if name not in found:
            continue
        f = found[name]
        head = [str(level), "yes" if masked else "no", str(f["orders"])]
        cpu = f.get("tokens_per_cpu_s")
        speed = [f"{f['tokens_per_s']:.1f}", str(cpu or "–"), f"{f['orders_per_s']:.2f}"]
        table.append([*head, *speed, f"{f['p50_s']:.1f} / {f['p95_s']:.1f}", f"{f['tokens_per_order']:.0f}"])
    return table


def prefix_table(found: Mapping[str, Any]) -> Table:
    """Time to the first token, with the prompt's fixed part in the cache and without."""
    table = [["prefix cache", "orders", "prompt tokens", "of them cached", "first token p50 / p95 s"]]
    for name, f in found.items():
        if name.startswith("prefix "):
            tokens = [str(f["prompt_tokens_per_order"]), f"{f['cached_share']:.0%}"]
            used = name.split()[1].strip(",")
            table.append([used, str(f["orders"]), *tokens, f"{f['p50_s']:.2f} / {f['p95_s']:.2f}"])
    return table


def arrivals_table(found: Mapping[str, Any]) -> Table:
    """Orders that arrive at random: offered, done, and how long each took from its arrival."""
    table = ["engine,offered/s,orders,failed,done/s,p50 s,p95 s,p99 s,load of the machine".split(",")]
    points = [(name.split()[1:-1], f) for name, f in found.items() if name.startswith("arrivals ")]
    for engine, f in sorted(points, key=lambda one: (one[0], one[1]["rate"])):
        times = [_shown(f[f"p{share}_s"]) for share in (50, 95, 99)]
        counts = [f"{f['rate']:g} ({f['offered_per_s']:g})", str(f["orders"]), str(f["failed"])]
        table.append([" ".join(engine), *counts, f"{f['done_per_s']:g}", *times, str(f["load"])])
    return table


def highest_table(found: Mapping[str, Any]) -> Table:
    """The highest load that keeps each limit."""
    table = [["engine", "p95 within", "up to orders/s"]]
    for name, f in found.items():
        if name.startswith("highest "):
            engine = name.removeprefix("highest ")
            table += [[engine, f"{limit} s", "none" if v is None else f"{v:g}"] for limit, v in f.items()]
    return table


def _shown(seconds: float | None) -> str:
    return "no cart" if seconds is None else f"{seconds:.1f}"


def pipeline_table(found: Mapping[str, Any]) -> Table:
    """Our own steps around an engine that answers at once."""
    table = [["threads", "orders", "p50 / p95 ms", "CPU p50 ms", "orders/s of one process"]]
    for threads, f in found.get("pipeline", {}).items():
        table.append(
            [
                threads,
                str(f["orders"]),
                f"{f['p50_ms']} / {f['p95_ms']}",
                str(f["cpu_p50_ms"]),
                str(f["orders_per_s"]),
            ]
        )
    return table


def draw(found: Mapping[str, Any], out: Path) -> None:
    """Tokens a second over orders in flight, masked and free; levels at even steps."""
    lines = {
        mode: [
            (float(place), float(found[f"load {level} {mode}"]["tokens_per_s"]))
            for place, level in enumerate(LEVELS)
            if f"load {level} {mode}" in found
        ]
        for mode in MODES
    }
    highest = max(value for points in lines.values() for _, value in points)
    step = 10 ** (len(str(int(highest))) - 1)
    ticks = [(float(step * i), str(step * i)) for i in range(int(highest // step) + 2)]
    places = [(float(place), str(level)) for place, level in enumerate(LEVELS)]
    plot = Plot("Tokens a second by orders in flight", ("orders in flight", places), ("tokens/s", ticks))
    for style, (mode, points) in zip(("first", "second"), lines.items(), strict=True):
        plot.line(points, style)
        for point in points:
            plot.dot(point, style, f"{mode}: {point[1]:.1f} tokens/s")
    write_svg(out / "engine.svg", plot.svg(), ("with the mask", "without"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/engine.json"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    args = parser.parse_args()
    if not args.results.exists():
        print(f"No results in {args.results}; run `make bench-engine` first.", file=sys.stderr)
        return 2
    found = json.loads(args.results.read_text())
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "engine.json").write_text(json.dumps(slim(found), indent=1) + "\n")
    draw(found, args.out)
    tables = (load_table, prefix_table, arrivals_table, highest_table, pipeline_table)
    for table in (make(found) for make in tables):
        if len(table) > 1:
            print(markdown(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
