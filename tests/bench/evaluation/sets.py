"""The sets of the evaluation: which there are, and what has to lie on disk before one can be scored.

Sealed rows are cut and counted here, never shown.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from services.learning.training.notation import read_menu
from tests.golden.files import FORMS
from tests.golden.ladder import RUNGS, Rung, climb

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden"
MENUS = ("harbor-coffee", "copper-skillet")
# Menus by strangers, one order in ten of each spoken (tests/golden/speak/told.py), in two of the conditions.
STRANGERS = ROOT / "tests" / "told" / "sealed"
STRANGERS_RUNGS = (Rung("clean"), Rung("babble", 5))
TEXT = "text"
SEED = 1  # that of `make ladder`, so that a ladder made by hand is the same


@dataclass(frozen=True, slots=True)
class Source:
    """A gold file and where its recordings are; `ladder` names the folder of its rungs. With `only` its rows
    of one menu."""

    menu: Path
    gold: Path
    recordings: Path
    ladder: str
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """One run of `saycart eval`. Without `audio` the whole gold file is read; with it, only `gold`'s rows
    that were spoken, which are cut from `source` first."""

    name: str
    condition: str
    source: Source
    gold: Path
    audio: Path | None = None


def golden(menu: str) -> Source:
    """The sealed half of a sample menu."""
    menus = ROOT / "infra" / "samples" / "menus"
    return Source(menus / f"{menu}.json", GOLDEN / f"{menu}-sealed.jsonl", GOLDEN / "audio", "golden")


def people(folder: Path) -> Source:
    """Orders by real people: a folder with `menu.json`, `gold.jsonl` and `audio/`."""
    return Source(folder / "menu.json", folder / "gold.jsonl", folder / "audio", "human")


def strangers(out: Path) -> dict[str, Source]:
    """The menus by strangers, by name; `prepare_menus` writes them under `out` as the product takes them."""
    gold, recordings = STRANGERS / "spoken.jsonl", STRANGERS / "audio"
    names = sorted(file.stem for file in STRANGERS.glob("*/*.menu"))
    return {
        name: Source(out / "menus" / f"{name}.json", gold, recordings, "strangers", only=name)
        for name in names
    }


def prepare_menus(sets: Sequence[Set]) -> None:
    """Write the menus by strangers that `sets` are of."""
    for source in {one.source for one in sets if one.source.only}:
        [file] = STRANGERS.glob(f"*/{source.only}.menu")
        source.menu.parent.mkdir(parents=True, exist_ok=True)
        source.menu.write_text(json.dumps(read_menu(file).model_dump(mode="json")), encoding="utf-8")


def condition(rung: Rung) -> str:
    """What a rung is called in a report."""
    return rung.kind if rung.snr_db is None else f"{rung.kind} {rung.snr_db} dB"


def all_sets(out: Path, ladders: Path, human: Path | None) -> list[Set]:
    """Every set in the order in which they are run; `human` is the folder of real people's, if there is."""

    def spoken(name: str, source: Source, rung: Rung, cut: str) -> Set:
        gold, audio = out / "gold" / f"{cut}-spoken.jsonl", ladders / source.ladder / rung.name
        return Set(name, condition(rung), source, gold, audio)

    sources = {menu: golden(menu) for menu in MENUS}
    found = [Set(f"{TEXT}-{menu}", TEXT, source, source.gold) for menu, source in sources.items()]
    for rung in RUNGS:
        found += [
            spoken(f"{rung.name}-{menu}", source, rung, source.gold.stem) for menu, source in sources.items()
        ]
    for rung in STRANGERS_RUNGS:
        found += [
            spoken(f"strangers-{rung.name}-{menu}", source, rung, f"strangers-{menu}")
            for menu, source in strangers(out).items()
        ]
    if human is not None:
        found += [spoken(f"human-{rung.name}", people(human), rung, "human") for rung in RUNGS]
    return found


def chosen(sets: Sequence[Set], only: str | None) -> list[Set]:
    """Those of the names in `only`, divided by commas; all without it.

    Raises:
        SystemExit: a name is none of a set.
    """
    if only is None:
        return list(sets)
    names = set(only.split(","))
    if unknown := names - {one.name for one in sets}:
        known = ", ".join(one.name for one in sets)
        raise SystemExit(f"No such set: {', '.join(sorted(unknown))}. There are: {known}.")
    return [one for one in sets if one.name in names]


def cut(one: Set) -> None:
    """Write the rows that were spoken to the set's gold file.

    Raises:
        SystemExit: a recording is not there, or can't be on a ladder.
    """
    lines = one.source.gold.read_text(encoding="utf-8").splitlines()
    rows = [(line, json.loads(line)) for line in lines if line.strip()]
    kept = [
        (line, row) for line, row in rows if row.get("audio") and one.source.only in (None, row.get("menu"))
    ]
    spoken, names = [line for line, _ in kept], [row["audio"] for _, row in kept]
    lost = [
        name
        for name in names
        if Path(name).name != name
        or Path(name).suffix.lower() not in FORMS
        or not (one.source.recordings / name).is_file()
    ]
    if lost or not names:
        # How many and not which: ids of sealed rows are nobody's business.
        raise SystemExit(
            f"{one.source.gold.name}: of {len(names)} recordings {len(lost)} are not right in "
            f"{one.source.recordings}, or end in none of {', '.join(FORMS)}."
        )
    one.gold.parent.mkdir(parents=True, exist_ok=True)
    one.gold.write_text("".join(f"{line}\n" for line in spoken), encoding="utf-8")


def recordings(gold: Path) -> list[str]:
    """Names of the recordings of rows that `cut` wrote, in the order in which a ladder is made."""
    lines = gold.read_text(encoding="utf-8").splitlines()
    return sorted({str(json.loads(line)["audio"]) for line in lines})


def make_ladder(data: Path, names: Sequence[str], ladder: Path) -> bool:
    """Every rung of these recordings of `data`, in `ladder`; whether anything had to be made.

    Files are moved there when all are made, so a run that is cut off leaves none that is half written.
    """
    if all((ladder / rung.name / name).is_file() for rung in RUNGS for name in names):
        return False
    ladder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=ladder, prefix="part-") as made, TemporaryDirectory() as some:
        for name in names:  # a ladder is made of a whole folder, and the shipped one holds the tuned half too
            shutil.copyfile(data / name, Path(some) / name)
        for _ in climb(Path(some), Path(made), SEED):
            pass
        for rung in RUNGS:
            (ladder / rung.name).mkdir(exist_ok=True)
            for name in names:
                os.replace(Path(made) / rung.name / name, ladder / rung.name / name)
    return True
