"""The report: `report.json` with every figure as it was seen, `report.md` with those that have a target."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from services.cli.replay import MACHINE_REASONS

TITLES = {
    "boundaries": "`kill -9` at each boundary of each stage and of the accept path",
    "chaos": "random kills, Redis kills, flushes, workers put to sleep",
    "sigstop": "SIGSTOP past the lease, then SIGCONT",
    "tripled": "every message delivered three times",
    "claims": "50 claims at once on one order",
    "keys": "20 posts at once under one key",
    "database_killed": "PostgreSQL killed, away for 10 s",
    "database_cut": "PostgreSQL cut off by the network (namespace, veth down)",
    "redis_cut": "Redis cut off by the network (namespace, veth down)",
    "locked": "SQLite locked by another program",
    "disk_full": "disk full (24 MB tmpfs)",
    "restarts": "rolling restarts of every part under load",
    "engines": "kills under real Whisper and the real language model",
}
_BY_POINT, _FEWEST = "kills by point", "fewest kills at a point"
_COUNTED = {"faults", "restarts", "ended", _BY_POINT}
DRAIN_S, RECOVER_S, EXTRA_PERCENT = 120.0, 60.0, 5.0
KILLS_AT_EACH_POINT = 50  # over all parts, in the long form


def entries(out: Path) -> list[dict[str, Any]]:
    """Results so far, in the order of the table above."""
    found = [json.loads(file.read_text()) for file in (out / "results").glob("*.json")]
    names = list(TITLES)
    return sorted(found, key=lambda entry: (names.index(entry["scenario"]), entry["database"], entry["part"]))


def misses(entry: dict[str, Any]) -> list[str]:
    """Which targets this result misses, of those that each part must meet."""
    figures = entry["figures"]
    missed = [
        f"{figures[name]} {name}"
        for name in ("lost", "doubled", "broken histories", "refused", "phantom orders")
        if figures.get(name)
    ]
    if "ended" in figures and entry["scenario"] != "engines" and not mostly_completed(figures):
        missed.append(f"ended: {figures['ended']}")
    if figures.get("errors seen by clients") or figures.get("restarts that failed"):
        missed.append(f"{figures['errors seen by clients']} errors seen by clients")
    if entry["scenario"] == "chaos":
        if not within(figures["drained s"], DRAIN_S):
            missed.append(f"drained after {figures['drained s']} s")
        if figures["extra runs %"] >= EXTRA_PERCENT:
            missed.append(f"{figures['extra runs %']} % extra runs")
    doubts = figures.get("reasons of review", {})
    if by_machine := sum(doubts.get(reason.value, 0) for reason in MACHINE_REASONS):
        missed.append(f"{by_machine} orders went to a human for want of an engine")
    recovered = "a new order completed after s"
    if recovered in figures and not within(figures[recovered], RECOVER_S):
        missed.append(f"recovered after {figures[recovered]} s")
    if entry["scenario"] == "sigstop" and figures["overtaken while asleep"] < figures["rounds"]:
        missed.append(f"{figures['overtaken while asleep']} of {figures['rounds']} orders were overtaken")
    return missed


def misses_of_all(parts: list[dict[str, Any]]) -> list[str]:
    """Which targets a scenario on one database misses, over all of its parts."""
    missed = [what for part in parts for what in misses(part)]
    if any(_FEWEST in part["figures"] for part in parts):
        enough = KILLS_AT_EACH_POINT * parts[0]["scale"] if parts[0]["form"] == "long" else 1
        if (fewest := fewest_kills([part["figures"] for part in parts])) < enough:
            missed.append(f"{fewest} kills at some point, {enough:g} are asked for")
    # The last part knows best how many there are: a series may be lengthened.
    if (open_ := parts[-1]["parts"] - len(parts)) > 0:
        missed.append(f"parts not run: {open_}")
    return missed


def fewest_kills(parts: list[dict[str, Any]]) -> int:
    """Kills that each point had at least. Where a part did not note them by point, its poorest point stands
    for all."""
    noted = [Counter(part[_BY_POINT]) for part in parts if _BY_POINT in part]
    least = sum(part[_FEWEST] for part in parts if _BY_POINT not in part)
    summed: Counter[str] = sum(noted, Counter())
    return least + min((summed[point] for kills in noted for point in kills), default=0)


def mostly_completed(figures: dict[str, Any]) -> bool:
    """A worker that dies again and again over one order leads it to a human; that must be rare."""
    return bool(figures["ended"].get("completed", 0) >= 0.95 * figures["accepted"])


def within(seconds: float | None, limit: float) -> bool:
    return seconds is not None and seconds <= limit


def broken(out: Path) -> list[str]:
    """Every missed target, in words."""
    return [
        f"{parts[0]['scenario']} on {parts[0]['database']}: {what}"
        for parts in _series(entries(out))
        for what in misses_of_all(parts)
    ]


def write(out: Path) -> None:
    """Make both files anew from the results."""
    found = entries(out)
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "# Faults: what was done to the stack, and what was lost",
        "",
        "Written by `make chaos` (infra/adr/0021). The judge is the client's ledger of every 202,",
        "compared at the end with the API, the database and the webhook receiver. Short stand-ins take the",
        "place of Whisper and the language model except where it says otherwise; all else is the product.",
        "",
        "| fault | database | done | lost | doubled | extra runs | drained / recovered | targets |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(parts) for parts in _series(found)),
        "",
        *(line for entry in found for line in _section(entry)),
    ]
    (out / "report.md").write_text("\n".join(lines))


def _series(found: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Results that belong together: all parts of a scenario on one database."""
    return [list(parts) for _, parts in groupby(found, lambda e: (e["scenario"], e["database"]))]


def _row(parts: list[dict[str, Any]]) -> str:
    """One line for all parts of a scenario that were run."""
    figures, last = together([part["figures"] for part in parts]), parts[-1]
    missed = misses_of_all(parts)
    run = f" ({len(parts)} of {last['parts']} parts)" if last["parts"] > 1 else ""
    cells = [
        TITLES[last["scenario"]] + run,
        last["database"],
        _done(figures),
        figures.get("lost", ""),
        figures.get("doubled", ""),
        f"{figures['extra runs %']} %" if "extra runs %" in figures else "",
        _times(figures),
        "missed: " + "; ".join(missed) if missed else "met",
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of several parts as one: numbers of things added up, times the longest, shares anew."""
    if len(parts) == 1:
        return parts[0]
    sums: dict[str, Any] = {}
    for name, value in parts[0].items():
        if not all(name in part for part in parts):
            continue  # what only some of them noted has no sum
        values = [part[name] for part in parts]
        if isinstance(value, dict):
            sums[name] = sum((Counter(v) for v in values), Counter[str]()) if name in _COUNTED else value
        elif name.endswith(" s"):
            sums[name] = None if None in values else max(values)
        else:
            sums[name] = sum(values)
    if "extra runs" in sums:
        sums["extra runs %"] = round(100 * sums["extra runs"] / (sums["stage runs"] - sums["extra runs"]), 2)
    if _FEWEST in sums:
        sums[_FEWEST] = fewest_kills(parts)
    return sums


def _part(entry: dict[str, Any]) -> str:
    return f", part {entry['part']}" if entry["parts"] > 1 else ""


def _done(figures: dict[str, Any]) -> str:
    plain = ("kills", "rounds", "posts", "claims")
    said = [f"{figures[name]} {name}" for name in plain if name in figures]
    said += [f"at each point {figures[_FEWEST]} or more"] if _FEWEST in figures else []
    said += [
        f"{sum(figures[name].values())} {name} ({_shown(figures[name])})"
        for name in ("faults", "restarts")
        if name in figures
    ]
    orders = figures.get("accepted", figures.get("orders"))
    ended = figures.get("ended", {})
    others = ", ".join(f"{number} {status}" for status, number in ended.items() if status != "completed")
    return ", ".join([*said, f"{orders} orders" + (f" ({others})" if others else "")])


def _times(figures: dict[str, Any]) -> str:
    said = []
    if "a new order completed after s" in figures:
        said.append(f"a new order done after {figures['a new order completed after s']} s")
    if "drained s" in figures:
        said.append(f"orders {figures['drained s']} s, messages {figures['messages drained s']} s")
    return "; ".join(said)


def _section(entry: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in sorted(entry["versions"].items()))
    return [
        f"## {entry['scenario']} on {entry['database']}{_part(entry)}",
        "",
        f"{entry['at']}, {entry['form']} form at scale {entry['scale']}, seed {entry['seed']}, "
        f"{entry['seconds']} s on {entry['cores']} cores{_load(entry)}, commit {entry['commit']}; "
        f"Linux {entry['kernel']}, Python {entry['python']}" + (f", {versions}" if versions else ""),
        "",
        f"`{entry['command']}`",
        "",
        *(f"- {name}: {_shown(value)}" for name, value in entry["figures"].items()),
        "",
    ]


def _load(entry: dict[str, Any]) -> str:
    return f" at a load of {entry['load average']}" if "load average" in entry else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(number)}" for name, number in value.items()) or "none"
    return str(value)
