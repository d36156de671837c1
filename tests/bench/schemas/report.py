"""What each library made of the hard schemas: verdicts out of the raw rows, as JSON and as a table.

    python -m tests.bench.schemas.report [--results FOLDER] [--out docs/benchmarks/masks/hard-schemas.json]

Nothing is run. The JSON has the raw rows too, so that the verdicts can be made again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.bench.schemas.cases import families
from tests.bench.schemas.child import ALL_CPU_S, COMPILE_CPU_S, LIBRARIES, LIMIT_BYTES

Row = dict[str, Any]
# Errors of a library's own insides, whatever they say, are no words about a schema.
INSIDE = {"KeyError", "IndexError", "AttributeError", "AssertionError", "RecursionError", "TypeError"}
CONVERTER = "JSON schema conversion failed"  # how llama.cpp's converter says no: it throws
# What a library tells of a keyword that it passes over, on standard error, taking the schema all the same.
WARNED = re.compile(r"not supported|still ongoing|incomplete|cannot be represented|should either be")
PATHS = re.compile(r"/\S*/site-packages/")
_CPU, _KILLED, _ABORTED = 24, 9, 6
VERDICTS = (
    "takes",
    "right",
    "refuses",
    "without words",
    "hangs",
    "crashes",
    "wrong accepts",
    "wrong refuses",
    "stops",
    "never ends",
    "warns",
)
Verdicts = set[str]


def verdict(row: Row) -> Verdicts:
    """What holds of one library and one schema: how it was received, then how its instances fared.

    `right`: taken, and each instance judged as the judge does. `stops`: taken, and an error of the library in
    the midst of an instance. `warns`: taken, and told that a part is passed over.
    `never ends`: taken, though nothing satisfies it.
    """
    told = row["told"]
    if not told:
        if row["signal"] == _ABORTED and CONVERTER in row["stderr"]:
            return {"refuses"}
        return {"hangs" if row["signal"] in (_CPU, _KILLED) else "crashes"}
    first = told[0]
    if "refused" in first:
        if first["refused"] in ("MemoryError", "PanicException"):
            return {"crashes"}
        wordless = first["refused"] in INSIDE or len(first["words"].split()) < 3
        return {"without words" if wordless else "refuses"}
    found = {"takes", "warns"} if WARNED.search(row["stderr"]) else {"takes"}
    if row["signal"]:
        return found | {"hangs" if row["signal"] in (_CPU, _KILLED) else "crashes"}
    if any("failed" in one for one in told):
        found.add("stops")
    if any(one.get("invalid") for one in told):
        found.add("wrong accepts")
    if any(one.get("valid") is False and "failed" not in one for one in told):
        found.add("wrong refuses")
    if row["name"].startswith("impossible"):
        found.add("never ends")
    return found | ({"right"} if not found - {"takes", "warns"} else set())


def of_library(rows: list[Row]) -> dict[str, Any]:
    """Counts of schemas by verdict, the names behind them, and what it took to compile."""
    by_verdict: dict[str, list[str]] = {name: [] for name in VERDICTS}
    for row in rows:
        for name in verdict(row):
            by_verdict[name].append(row["name"])
    compiled = sorted(row["told"][0]["compile_ms"] for row in rows if "takes" in verdict(row))
    return {
        "schemas": len(rows),
        "counts": {name: len(names) for name, names in by_verdict.items()},
        "families": {
            name: dict(Counter(n.rpartition("-")[0] for n in names)) for name, names in by_verdict.items()
        },
        "compile_ms": {
            f"p{share}": compiled[int(share / 100 * (len(compiled) - 1))] for share in (50, 95, 100)
        },
    }


def table(found: dict[str, Any]) -> list[list[str]]:
    """A row a library; the counts are of 300 schemas, of which one may be in several columns."""
    rows = [["library", *VERDICTS, "compile p50 / p95 / most, ms"]]
    for library, told in found.items():
        counts = [str(told["counts"][name]) for name in VERDICTS]
        times = " / ".join(f"{told['compile_ms'][key]:.0f}" for key in ("p50", "p95", "p100"))
        rows.append([library, *counts, times])
    return rows


def family_table(found: dict[str, Any]) -> list[list[str]]:
    """Of each family's ten, how many each library takes and judges right, and how many it gets wrong."""
    rows = [["family", "hard because", *found]]
    for family in families():
        cells = []
        for told in found.values():
            count = {name: told["families"][name].get(family.name, 0) for name in VERDICTS}
            signs = [f"{count['right']}"]
            signs += [f"{count[name]}{sign}" for name, sign in SIGNS.items() if count[name]]
            cells.append(" ".join(signs))
        rows.append([family.name, family.why, *cells])
    return rows


SIGNS = {
    "refuses": "r",
    "without words": "s",
    "hangs": "h",
    "crashes": "c",
    "wrong accepts": "A",
    "wrong refuses": "R",
    "stops": "e",
    "never ends": "n",
}


def markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/schemas"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/masks/hard-schemas.json"))
    args = parser.parse_args()
    versions: dict[str, dict[str, str]] = {}
    rows: dict[str, list[Row]] = {}
    for library in LIBRARIES:
        file = args.results / f"{library}.jsonl"
        if file.exists():
            versions[library] = json.loads(file.with_suffix(".versions.json").read_text())
            told = [json.loads(line) for line in file.read_text().splitlines()]
            for row in told:
                row["stderr"] = PATHS.sub("", row["stderr"])
            rows[library] = sorted(told, key=lambda row: str(row["name"]))
    found = {library: of_library(told) for library, told in rows.items()}
    limits = {"compile_cpu_s": COMPILE_CPU_S, "all_cpu_s": ALL_CPU_S, "memory_bytes": LIMIT_BYTES}
    head = json.dumps({"versions": versions, "limits": limits, "libraries": found}, indent=1)
    raw = ",\n".join(
        f"  {json.dumps(library)}: [\n" + ",\n".join("   " + json.dumps(row) for row in told) + "\n  ]"
        for library, told in rows.items()
    )
    args.out.write_text(head[:-2] + f',\n "rows": {{\n{raw}\n }}\n}}\n')
    print(markdown(table(found)))
    print(markdown(family_table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
