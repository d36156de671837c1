"""The recordings of the claim's bench: the tuned half of the golden set and the shipped samples, the same in
a café, and told orders. The sealed half is never heard here.

There are 109 recordings of the first (93 golden ones by 14 synthetic voices, and 16 samples) in three
conditions: clean, and in the babble of the golden ladder at 20 dB and at 10 dB. The condition `told` is 48
told orders of the same two menus that no adapter learned from, clean, by six voices: those are spoken by
`tests/golden/speak` (docs/benchmarks/claim/README.md) into OUT/audio/told. `told-babble-10` is these in
noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schemas.menu import Menu
from tests.bench.orders import ROOT, SETS, menu_of, told_by
from tests.golden.files import write
from tests.golden.ladder import RUNGS, degrade, read

GOLDEN, SAMPLES = ROOT / "tests" / "golden" / "audio", ROOT / "infra" / "samples" / "recordings"
SEED = 1  # that of `make ladder`
TOLD = tuple(ROOT / name for name in told_by("k"))
_RUNGS = {rung.name: rung for rung in RUNGS}


@dataclass(frozen=True, slots=True)
class Condition:
    """How tables name it, the rung of the ladder that is put over the recordings, and whether these are the
    told orders."""

    says: str
    rung: str | None = None
    told: bool = False


CONDITIONS = {
    "clean": Condition("clean"),
    "babble-20": Condition("café 20 dB", "babble-20"),
    "babble-10": Condition("café 10 dB", "babble-10"),
    "told": Condition("told, clean", told=True),
    "told-babble-10": Condition("told, café 10 dB", "babble-10", told=True),
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """One recorded order: its file, the menu it is read against, and the gold cart as draft lines."""

    id: str
    file: Path
    menu: Menu
    gold: list[dict[str, Any]]


@cache
def recordings() -> tuple[Spoken, ...]:
    """All of them, the two menus in turns of the order of their files."""
    found = []
    for name in SETS:
        folder = SAMPLES if "samples" in name else GOLDEN
        rows = [json.loads(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
        found += [
            Spoken(row["id"], folder / row["audio"], menu_of(row["menu"]), row["cart"]["lines"])
            for row in rows
            if row.get("audio")
        ]
    return tuple(found)


@cache
def told() -> tuple[Spoken, ...]:
    """The told orders; where each is spoken says `heard_in`."""
    rows = [json.loads(line) for file in TOLD for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Spoken(row["id"], Path(f"{row['id']}.flac"), menu_of(row["menu"]), row["cart"]["lines"])
        for row in rows
    )


def spread(count: int, condition: str = "clean") -> list[Spoken]:
    """`count` recordings of a condition at even steps, always the same ones for the same count."""
    whole = told() if CONDITIONS[condition].told else recordings()
    count = min(count, len(whole))
    return [whole[int((i + 0.5) * len(whole) / count)] for i in range(count)]


def heard_in(one: Spoken, condition: str, folder: Path) -> Path:
    """The recording under a condition of the ladder, made in `folder` the first time.

    Raises:
        FileNotFoundError: a told order that was not spoken into `folder` yet.
    """
    asked = CONDITIONS[condition]
    file = folder / "told" / one.file if asked.told else one.file
    if asked.told and not file.is_file():
        raise FileNotFoundError(f"{file}: told orders are spoken first, see docs/benchmarks/claim")
    if asked.rung is None:
        return file
    made = folder / condition / one.file.name
    if not made.is_file():
        made.parent.mkdir(parents=True, exist_ok=True)
        part = made.with_name(f"part-{made.name}")
        write(part, degrade(read(file), _RUNGS[asked.rung], one.file.name, SEED))
        part.replace(made)
    return made
