"""Figures, plots and tables of a run of the techniques: from rows on disk, nothing is run.

    python -m tests.bench.techniques.report --results FOLDER --out docs/benchmarks

Writes `techniques.json` and plots to OUT, and prints the tables as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from services.evaluation.plots import bars, intervals
from tests.bench.pictures import write_svg
from tests.bench.techniques.forms import BASE
from tests.bench.techniques.methods import METHODS, VARIANTS
from tests.bench.techniques.rows import figures, paired, rows_of

TEMPERATURES = (0.0, 0.7)
OURS = "evidence"
# Names that fit beside a plot.
SHORT = {
    "prompt": "prompt only", "repair": "repair loop", "json-mode": "JSON mode", "outlines": "Outlines, cut",
    "xgrammar": "XGrammar", "schema-llguidance": "llguidance", "evidence": "evidence mask",
    "draft": "draft, then mask", "bias": "logit_bias", "bias-alone": "logit_bias, alone",
    "tools": "function call", "tools-strict": "function, strict", "template": "template",
}  # fmt: skip

Figures = Mapping[str, Any]
Table = list[list[str]]


def gather(folder: Path) -> dict[str, Any]:
    """All figures of a folder of results; techniques that were not run are not in it."""
    techniques: dict[str, dict[str, Any]] = {}
    against: dict[str, dict[str, Any]] = {}
    for temperature in TEMPERATURES:
        runs = {m.name: rows_of(folder, m.name, temperature) for m in METHODS}
        runs = {name: rows for name, rows in runs.items() if rows}
        techniques[str(temperature)] = {name: figures(rows) for name, rows in runs.items()}
        against[str(temperature)] = {
            name: paired(rows, runs[OURS]) for name, rows in runs.items() if name != OURS and OURS in runs
        }
    base = rows_of(folder, BASE.name, 0.0)
    forms = {m.name: rows_of(folder, m.name, 0.0) for m in VARIANTS}
    masks = folder / "masks.json"
    return {
        "about": json.loads((folder / "about.json").read_text()),
        "techniques": techniques,
        "ours_against": against,
        "forms": {name: {**figures(rows), **paired(base, rows)} for name, rows in forms.items() if rows},
        "masks": json.loads(masks.read_text()) if masks.exists() else None,
    }


def technique_table(found: Mapping[str, Figures]) -> Table:
    """One row a technique: form, truth, cost."""
    names = {m.name: m.says for m in METHODS}
    table = [
        ["technique", "parse failures (95%)", "of them", "exact carts (95%)", "tidied", "lines right",
         "carts with catalog errors", "calls", "tokens out", "p50 / p95 s"],
    ]  # fmt: skip
    for name, f in found.items():
        kinds = ", ".join(f"{count} {kind}" for kind, count in f["failures_by_kind"].items())
        table.append(
            [
                names[name],
                f"{f['parse_failures']} of {f['orders']} ({_span(f['parse_failures_ci'])})",
                kinds or "–",
                f"{f['exact']} ({_span(f['exact_ci'])})",
                str(f["exact_tidied"]),
                f"{f['right_lines']} of {f['gold_lines']}",
                str(f["with_catalog_errors"]),
                f"{f['calls']:.2f}",
                f"{f['completion_tokens']:.0f}",
                f"{f['seconds_p50']:.1f} / {f['seconds_p95']:.1f}",
            ]
        )
    return table


def catalog_table(found: Mapping[str, Figures]) -> Table:
    """Errors by kind that form alone does not see, and that a mask made of the menu alone does not mend."""
    names = {m.name: m.says for m in METHODS}
    kinds = sorted({kind for f in found.values() for kind in f["catalog_errors_by_kind"]})
    table = [["catalog errors", *kinds, "carts with words that nobody said"]]
    for name, f in found.items():
        counts = [str(f["catalog_errors_by_kind"].get(kind, 0)) for kind in kinds]
        table.append([names[name], *counts, str(f["with_words_not_said"])])
    return table


def paired_table(found: Mapping[str, Figures]) -> Table:
    """Ours against each other technique on the same orders."""
    names = {m.name: m.says for m in METHODS}
    table = [["ours against", "orders", "exact: it", "exact: ours", "only it", "only ours", "p (McNemar)"]]
    for name, f in found.items():
        counts = (f[k] for k in ("orders", "exact_before", "exact_after", "only_before", "only_after"))
        table.append([names[name], *(str(count) for count in counts), _p(f["p"])])
    return table


def form_table(found: Mapping[str, Figures]) -> Table:
    """Each form against the base, on the same orders."""
    names = {m.name: m.says for m in VARIANTS}
    table = [
        ["one change", "orders", "exact as it is", "exact changed", "lost", "gained", "p (McNemar)",
         "lines right: as it is, changed", "parse failures", "carts with catalog errors", "tokens out"],
    ]  # fmt: skip
    for name, f in found.items():
        counts = (f[k] for k in ("orders", "exact_before", "exact_after", "only_before", "only_after"))
        lines = f"{f['right_lines_before']}, {f['right_lines_after']} of {f['gold_lines']}"
        rest = (
            lines,
            str(f["parse_failures"]),
            str(f["with_catalog_errors"]),
            f"{f['completion_tokens']:.0f}",
        )
        table.append([names[name], *(str(count) for count in counts), _p(f["p"]), *rest])
    return table


def mask_table(found: Mapping[str, Figures]) -> Table:
    """Compile time and time a token, by library."""
    table = [["masker", "first compile of a menu", "later", "mask a token p50 / p99", "peak memory"]]
    for subject, f in found.items():
        if "stopped" in f:
            table.append([subject, f["stopped"], "–", "–", "–"])
            continue
        first = max(f["first_compile_ms"].values())
        mask = f["mask_us"]
        table.append(
            [
                subject,
                f"{first / 1e3:.1f} s" if first >= 1000 else f"{first:.0f} ms",
                f"{f['later_compile_ms_p50']} ms",
                f"{mask['p50']:.0f} / {mask['p99']:.0f} µs",
                f"{f['peak_mib']} MiB",
            ]
        )
    return table


def markdown(table: Table) -> str:
    rows = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([rows[0], "|" + "---|" * len(table[0]), *rows[1:]]) + "\n"


def draw(found: Mapping[str, Any], out: Path) -> None:
    """Exact carts with intervals at both temperatures; parse failures; latency; tokens."""
    by_temperature = found["techniques"]
    cold: Mapping[str, Figures] = by_temperature["0.0"]
    names = list(cold)
    ticks = [(i / 5, f"{i / 5:.0%}") for i in range(6)]
    legend = [f"temperature {t}" for t in by_temperature]
    for file, key, title in (
        ("exact.svg", "exact", "exact carts"),
        ("failures.svg", "parse_failures", "answers that are no cart"),
    ):
        series = [
            (style, {names.index(n): _interval(f, key) for n, f in runs.items() if n in names})
            for style, runs in zip(("first", "second"), by_temperature.values(), strict=True)
        ]
        write_svg(out / file, intervals(title, (title, ticks), [SHORT[n] for n in names], series), legend)
    latency = [
        (SHORT[n], f["seconds_p50"], f["seconds_p95"], f"{f['seconds_p50']:.1f} · {f['seconds_p95']:.1f} s")
        for n, f in cold.items()
    ]
    write_svg(out / "latency.svg", bars("Seconds an order: median, and paler the 95th percentile", latency))
    tokens = [
        (SHORT[n], f["completion_tokens"], None, f"{f['completion_tokens']:.0f}") for n, f in cold.items()
    ]
    write_svg(out / "tokens.svg", bars("Tokens written an order, all calls", tokens))


def _interval(f: Figures, key: str) -> tuple[float, float, float, str]:
    low, high = f[f"{key}_ci"]
    share = f[key] / f["orders"]
    return low, share, high, f"{share:.1%} of {f['orders']}"


def _span(interval: Sequence[float]) -> str:
    return f"{interval[0]:.1%}–{interval[1]:.1%}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _tables(found: Mapping[str, Any]) -> Iterable[tuple[str, Table]]:
    for temperature, runs in found["techniques"].items():
        if runs:
            yield f"Temperature {temperature}", technique_table(runs)
            yield f"Beyond form, temperature {temperature}", catalog_table(runs)
            yield f"Ours, paired, temperature {temperature}", paired_table(found["ours_against"][temperature])
    if found["forms"]:
        yield "Forms, temperature 0", form_table(found["forms"])
    if found["masks"]:
        yield "Masks alone", mask_table(found["masks"]["subjects"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/techniques"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    args = parser.parse_args()
    found = gather(args.results)
    if not found["techniques"]["0.0"]:
        print(f"No results in {args.results}; run `make bench-techniques` first.", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "techniques.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(found, args.out)
    for title, table in _tables(found):
        print(f"### {title}\n\n{markdown(table)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
