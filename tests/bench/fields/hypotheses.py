"""Several hypotheses of the recogniser, read against the menu: does the best explained one hear more?

    python -m tests.bench.fields.hypotheses FOLDER... [--rung babble-5]

Folders are as `tests/golden/speak/told.py` and `speak.py` leave them: `spec.json`, `menu.json`, recordings.
Each recording is heard as the product hears it (fitted, whole, with its noise turned down, again with the
menu's words) and once more for the five best hypotheses of its first hearing. Chosen is the hearing of which
the menu explains most, the product's where none is better. Told are word errors, with and without it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from infra.settings import settings
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.engines.ports import Recording, Transcriber
from services.evaluation.hearing import word_errors
from services.hearing.second_hearing import hear
from tests.bench.fields.hear import Listener, listener, samples
from tests.bench.fields.levers import Lists, best_of, chosen
from tests.golden.files import write
from tests.golden.ladder import RUNGS, Rung, degrade

SEED = 1
WHOLE = 0.7  # of the words: a recording of several windows has hypotheses of the last one alone


def hypotheses(ears: Listener, lists: Lists, file: Path, language: str) -> list[str]:
    """The best ones of a whole hearing, likeliest first; none where they are of a part of the recording."""
    first, found = best_of(ears, lists, samples(file), language)
    longest = max((len(text.split()) for text in found), default=0)
    return found if longest >= WHOLE * len(first.split()) else []


def scored(folder: Path, rung: Rung, ears: Transcriber, other: Listener, lists: Lists) -> Counter[str]:
    """Counts over one folder's orders."""
    menu = Menu.parse(json.loads((folder / "menu.json").read_text()))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as made:
        for row in json.loads((folder / "spec.json").read_text())["rows"]:
            file = Path(made) / f"{row['id']}.flac"
            write(file, degrade(samples(folder / file.name), rung, file.stem, SEED))
            floor = settings().asr_threshold
            heard = hear(Recording(file, samples), menu.language, menu, 1, ears, floor=floor).transcript.text
            texts = [heard, *hypotheses(other, lists, file, menu.language)]
            best = chosen(texts, menu)
            before, said = word_errors(row["text"], heard, menu.language)
            after, _ = word_errors(row["text"], best, menu.language)
            counts.update(orders=1, words=said, errors=before, with_hypotheses=after)
            counts.update(changed=best != heard, fewer=after < before, more=after > before)
    return counts


def main() -> int:
    rungs = {rung.name: rung for rung in RUNGS}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rung", choices=rungs, default="clean")
    args = parser.parse_args()
    other = listener(1)
    other.load()
    lists = Lists(other._model.model)
    other._model.model = lists
    box = bootstrap(settings())
    try:
        total: Counter[str] = Counter()
        for folder in args.folders:
            total += scored(folder, rungs[args.rung], box.transcriber, other, lists)
            print(folder.name, dict(total), flush=True)
    finally:
        box.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
