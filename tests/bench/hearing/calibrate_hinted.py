"""Measures second hearings with the menu's words, for `services/engines/recognition/confidence.json`.

    python -m tests.bench.hearing.calibrate_hinted --data DIR [--spoken FOLDER...] [--snr 20 10 5 0] [--write]

The recordings and noises of `calibrate_asr.py`, each heard as the product hears it; and orders of
menus by strangers as `heard_taught.py spec` and `speak.py` leave them, since names that the recogniser does
not know are what such a hearing is for. The table is measured on those hearings alone that
took the place of a first one whose noise was left as it is. A person's was right as there; a spoken order's
where its words mean to the rules what was said does: the same names and numbers.

Told too: how many of them were right by the confidence that the first hearing had. What was heard is kept in
`--heard`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.engines.ports import Recording, Transcriber
from services.engines.recognition.audio import RATE, Samples
from services.engines.recognition.confidence import TABLES
from services.engines.recognition.whisper import HINTED, mean_probability
from services.hearing.second_hearing import hear
from services.reading.order import read_order
from services.training.orders import shops
from tests.bench.fields.hear import samples
from tests.bench.hearing.calibrate_asr import auroc, heard_right, in_noise, isotonic, write
from tests.golden.files import write as write_audio
from tests.golden.ladder import RUNGS, degrade

SPOKEN_RUNGS = ("clean",)
SEED = 1


@dataclass(frozen=True, slots=True)
class Mix:
    """One recording at one level of noise; `people` where a cart is all that is known of it."""

    id: str
    level: str
    menu: Menu
    order: dict[str, Any]
    people: bool
    made: Any

    def right(self, text: str) -> bool:
        """Whether all that counts was heard, and nothing else."""
        if self.people:
            return heard_right(text, self.order["cart"], self.menu)
        return meant(read_order(text, self.menu, 1)) == meant(read_order(self.order["text"], self.menu, 1))


def meant(evidence: Evidence) -> tuple[Counter[Any], Counter[int]]:
    """The names and the numbers of an order, but for one, which is said in many ways."""
    numbers = Counter(number.value for number in evidence.numbers if number.value != 1)
    return Counter((mention.kind, mention.ids) for mention in evidence.mentions), numbers


def people(folder: Path, snrs: list[int | None]) -> Iterator[Mix]:
    menu = Menu.parse(json.loads((folder / "menu.json").read_text()))
    gold = [json.loads(line) for line in (folder / "gold.jsonl").read_text().splitlines()]
    clips = [samples(folder / "audio" / row["audio"]) for row in gold]
    for snr in snrs:
        for index, row in enumerate(gold):
            level = "clean" if snr is None else f"{snr} dB"
            yield Mix(row["id"], level, menu, row, True, lambda i=index, s=snr: in_noise(clips, i, s))


def spoken(folders: list[Path]) -> Iterator[Mix]:
    menus = {shop.menu.id: shop.menu for part in ("train", "tune") for shop in shops(part)}
    rungs = {rung.name: rung for rung in RUNGS}
    for name in SPOKEN_RUNGS:
        for folder in folders:
            for row in json.loads((folder / "spec.json").read_text(encoding="utf-8"))["rows"]:
                file = folder / f"{row['id']}.flac"

                def made(file: Path = file, rung: Any = rungs[name]) -> Samples:
                    return degrade(samples(file), rung, file.stem, SEED)

                yield Mix(row["id"], name, menus[row["menu"]], row, False, made)


def heard_row(mix: Mix, ears: Transcriber, floor: float, folder: Path) -> dict[str, Any]:
    """What the product hears in a mix, and the confidence that its first hearing had."""
    file = folder / "mix.wav"
    write_audio(file, mix.made())
    heard = hear(Recording(file, samples), "en", mix.menu, 1, ears, floor=floor).transcript
    return {
        "id": mix.id,
        "level": mix.level,
        "people": mix.people,
        "source": heard.source,
        "text": heard.text,
        "raw": mean_probability(heard.words),
        "first": heard.first_heard,
        "first_confidence": heard.first_confidence,
        "right": bool(heard.text) and mix.right(heard.text),
    }


def hear_all(mixes: Iterator[Mix], kept: Path) -> list[dict[str, Any]]:
    """A row a mix; those already in the file `kept` are not heard again."""
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(row["id"], row["level"]): row for row in rows}
    box = bootstrap(settings())
    try:
        with kept.open("a") as file:
            for mix in mixes:
                if (mix.id, mix.level) not in known:
                    row = heard_row(mix, box.transcriber, settings().asr_threshold, kept.parent)
                    known[mix.id, mix.level] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    finally:
        box.close()
    return list(known.values())


def told_by_first(rows: list[dict[str, Any]], floor: float) -> dict[str, list[bool]]:
    """Whether each was right, by whether the hearing that it replaced was sure enough."""
    found: dict[str, list[bool]] = {"under the floor": [], "at the floor or over it": []}
    under, over = found.values()
    for row in rows:
        (under if row["first_confidence"] < floor else over).append(row["right"])
    return found


def told_of(rows: list[dict[str, Any]], snrs: list[int]) -> str:
    """What the table is of, for those who read it."""
    orders = Counter(people for _, people in {(row["id"], row["people"]) for row in rows})
    return (
        f"{orders[True]} human orders, {RATE} Hz, clean and at {snrs} dB of babble or pink noise, and "
        f"{orders[False]} of menus by strangers in synthetic voices, {', '.join(SPOKEN_RUNGS)}: where the "
        "menu's words made sense of what had made none"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--spoken", type=Path, nargs="*", default=[], help="folders of spoken orders")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, besides clean")
    parser.add_argument("--heard", type=Path, default=Path("reports/heard-hinted.jsonl"))
    parser.add_argument("--write", action="store_true", help="put what was measured into confidence.json")
    args = parser.parse_args()
    mixes = chain(people(args.data, [None, *args.snr]), spoken(args.spoken))
    everything = hear_all(mixes, args.heard)
    rows = [row for row in everything if row["source"].endswith(f"/en+{HINTED}")]
    counts = Counter((row["level"], "right" if row["right"] else "wrong") for row in rows)
    for (level, how), count in sorted(counts.items()):
        print(f"{level}: {count} {how}")
    for name, some in told_by_first(rows, settings().asr_threshold).items():
        print(f"the first hearing {name}: {sum(some)} right of {len(some)}")
    scores, labels = np.array([row["raw"] for row in rows]), np.array([row["right"] for row in rows])
    table = isotonic(scores, labels)
    key = rows[0]["source"]
    print(f"{key}: {len(rows)} heard, {sum(labels)} right, AUROC {auroc(scores, labels):.3f}")
    print(*table, sep="\n")
    if args.write:
        document = json.loads(TABLES.read_text())
        document["tables"][key] = {
            "data": told_of(everything, args.snr),
            "heard": len(rows),
            "heard_right": int(labels.sum()),
            "without_words": 0,
            "auroc": round(auroc(scores, labels), 3),
            "rows": table,
        }
        write(document)


if __name__ == "__main__":
    main()
