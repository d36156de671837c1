"""The report: `report.json` with every figure as it was seen, `report.md` with those that have a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.faults.targets import FEWEST, misses

TITLES = {
    "boundaries": "`kill -9` at each boundary of each stage and of the accept path",
    "chaos": "random kills, Redis kills, flushes, workers put to sleep",
    "sigstop": "SIGSTOP past the lease, then SIGCONT",
    "database_killed": "PostgreSQL killed, away for 10 s",
    "database_cut": "PostgreSQL cut off by the network (namespace, veth down)",
    "redis_cut": "Redis cut off by the network (namespace, veth down)",
    "locked": "SQLite locked by another program",
    "disk_full": "disk full (24 MB tmpfs)",
    "restarts": "rolling restarts of every part under load",
    "engines": "kills under real Whisper and the real language model",
}


def entries(out: Path) -> list[dict[str, Any]]:
    """Results so far, in the order of the table above."""
    found = [json.loads(file.read_text()) for file in (out / "results").glob("*.json")]
    names = list(TITLES)
    return sorted(found, key=lambda entry: (names.index(entry["scenario"]), entry["database"]))


def broken(out: Path) -> list[str]:
    """Every missed target, in words."""
    return [
        f"{entry['scenario']} on {entry['database']}: {what}"
        for entry in entries(out)
        for what in misses(entry)
    ]


def write(out: Path) -> None:
    """Write both files from the results."""
    found = entries(out)
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "report.md").write_text(page(found))


def page(found: list[dict[str, Any]]) -> str:
    """The report as a page: one row a fault and database."""
    days = sorted({entry["at"][:10] for entry in found})
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    lines = [
        "# Does a fault lose an order?",
        "",
        f"Written by `make chaos`, {when}. The client's record of every 202 is compared at the end",
        "with the API, the database and the webhook receiver. Short stand-ins replace Whisper and the",
        "language model except where a row says otherwise. Details and versions are in",
        "[report.json](report.json).",
        "",
        "| fault | database | done | lost, doubled | extra runs | recovered |",
        "|---|---|---|---|---|---|",
        *map(_row, found),
    ]
    return "\n".join(lines) + "\n"


def _row(entry: dict[str, Any]) -> str:
    """One line for a scenario on one database."""
    figures = entry["figures"]
    cells = [
        TITLES[entry["scenario"]] + "".join(f"; **missed: {what}**" for what in misses(entry)),
        entry["database"],
        _done(figures),
        f"{figures.get('lost', '?')}, {figures.get('doubled', '?')}",
        f"{figures['extra runs %']}%" if "extra runs %" in figures else "",
        _times(figures),
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _done(figures: dict[str, Any]) -> str:
    plain = ("kills", "rounds")
    said = [f"{figures[name]} {name}" for name in plain if name in figures]
    said += [f"at each point {figures[FEWEST]} or more"] if FEWEST in figures else []
    said += [f"{sum(figures[name].values())} {name}" for name in ("faults", "restarts") if name in figures]
    orders = figures.get("accepted", figures.get("orders"))
    ended = figures.get("ended", {})
    others = ", ".join(f"{number} {status}" for status, number in ended.items() if status != "completed")
    return ", ".join([*said, f"{orders} orders" + (f" ({others})" if others else "")])


def _times(figures: dict[str, Any]) -> str:
    said = []
    if "a new order completed after s" in figures:
        said.append(f"a new order after {figures['a new order completed after s']} s")
    if "drained s" in figures:
        said.append(f"orders {figures['drained s']} s, messages {figures['messages drained s']} s")
    return "; ".join(said)
