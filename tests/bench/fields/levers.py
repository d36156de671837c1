"""What beams and n-best lists give, at the level of evidence: does matching find just what the gold cart has?

    python -m tests.bench.fields.levers --out levers.jsonl [--human DIR] [--rung babble-10] [--every 2]

Each recording goes through the encoder once and is decoded with beams of 1, 5 and 8, and with a beam of 5 for
its five best hypotheses; then a choice among these by the menu: fewest words that nothing accounts for, then
most names, then the recogniser's own order. Tuned half and real people only. Without --out nothing is kept;
what is there already is not heard again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper.audio import decode_audio

from schemas.compare import canonical
from schemas.errors import Unreadable
from schemas.menu import Menu
from services.engines.recognition.audio import RATE, Samples
from services.engines.recognition.whisper import OPTIONS
from services.evaluation.run import read_gold
from services.hearing.second_hearing import understood
from services.reading.order import read_order
from tests.bench.fields.hear import Listener, Recording, kept, listener, on_rung, recordings
from tests.carts import all_said
from tests.golden.ladder import RUNGS

BEAMS = (1, 5, 8)
BEST = 5


class Lists:
    """Stands before a CTranslate2 Whisper: keeps the encoder's output of one recording, and asks for as many
    hypotheses as `best` says, whose token ids it remembers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._encoded: tuple[bytes, Any] = (b"", None)
        self.best, self.found = 1, list[list[int]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, features: Any, **options: Any) -> Any:
        key = np.asarray(features).tobytes()
        if self._encoded[0] != key:
            self._encoded = (key, self._model.encode(features, **options))
        return self._encoded[1]

    def generate(self, encoded: Any, prompts: Any, **options: Any) -> Any:
        answer = self._model.generate(encoded, prompts, **{**options, "num_hypotheses": self.best})
        self.found = answer[0].sequences_ids
        return answer


def texts(ears: Listener, lists: Lists, samples: Samples, language: str) -> dict[str, Any]:
    """The text by beam, and the texts of the n-best list."""
    heard: dict[str, Any] = {}
    for beam in BEAMS:
        lists.best = 1
        heard[f"beam-{beam}"] = text_of(ears, samples, language, beam_size=beam)
    _, heard["n-best"] = best_of(ears, lists, samples, language)
    return heard


def best_of(ears: Listener, lists: Lists, samples: Samples, language: str) -> tuple[str, list[str]]:
    """The text, and the texts of the n-best list of its last window."""
    lists.best = BEST
    text = text_of(ears, samples, language, beam_size=BEST)
    decode = ears._model.hf_tokenizer.decode
    return text, [" ".join(decode(ids, skip_special_tokens=True).split()) for ids in lists.found]


def text_of(ears: Listener, samples: Samples, language: str, **other: Any) -> str:
    """What is heard with the product's options, or some others."""
    options = {**OPTIONS, "word_timestamps": False, **other}
    segments, _ = ears._model.transcribe(samples, language=language, **options)
    return " ".join(" ".join(segment.text for segment in segments).split())


def chosen(hypotheses: list[str], menu: Menu) -> str:
    """The hypothesis that the menu makes most plausible; the recogniser's own first among equals."""

    def explained(text: str) -> tuple[int, int]:
        try:
            return understood(read_order(text, menu, 1))
        except Unreadable:
            return (-len(text), 0)

    return max(hypotheses, key=explained, default="")


def table(rows: Iterator[tuple[str, Recording, dict[str, Any]]]) -> dict[str, Counter[str]]:
    """By source, rung and lever: hearings, exact carts, plain ones among them, and wrong plain ones."""
    found: dict[str, Counter[str]] = {}
    for rung, one, heard in rows:
        levers = {name: text for name, text in heard.items() if name != "n-best"}
        levers["n-best by menu"] = chosen(heard["n-best"], one.menu)
        for name, text in levers.items():
            count(found, rung, name, one, text)
    return found


def count(found: dict[str, Counter[str]], rung: str, lever: str, one: Recording, text: str) -> Counter[str]:
    """Put a hearing to its row, which is given: exact where all that was said gives the gold cart, plain
    where only that does."""
    evidence = read_order(text, one.menu, 1)
    lines = [line.model_dump(mode="json") for line in all_said(evidence).lines]
    exact = canonical(lines) == canonical(one.gold["cart"]["lines"])
    source = one.source if one.source == "human" else "tuned"
    counts = found.setdefault(f"{source} {rung} {lever}", Counter())
    counts.update(hearings=1, exact=exact, plain_right=exact and evidence.plain)
    counts.update(plain_wrong=evidence.plain and not exact)
    return counts


def people(folder: Path) -> Iterator[Recording]:
    menu = Menu.parse(json.loads((folder / "menu.json").read_text()))
    for row in read_gold(folder / "gold.jsonl"):
        yield Recording("human", row, folder / "audio" / row["audio"], menu)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--human", type=Path, help="folder of real people's orders")
    parser.add_argument(
        "--rung", nargs="*", default=[], help="to hear: clean, babble-10, ...; none: only count"
    )
    parser.add_argument("--every", type=int, default=1, help="only each so-manieth recording")
    args = parser.parse_args()
    known = kept(args.out)
    everything = [*(people(args.human) if args.human else ()), *recordings()]
    ears = listener(1)
    if args.rung:
        ears.load()
        lists = Lists(ears._model.model)
        ears._model.model = lists
    with args.out.open("a") as file, tempfile.TemporaryDirectory() as folder:
        for rung in (rung for rung in RUNGS if rung.name in args.rung):
            for one in everything[:: args.every]:
                if (one.gold["id"], rung.name) in known:
                    continue
                samples = np.asarray(decode_audio(str(on_rung(one, rung, Path(folder))), RATE), np.float32)
                row = {"id": one.gold["id"], "rung": rung.name, **texts(ears, lists, samples, "en")}
                file.write(json.dumps(row) + "\n")
                file.flush()
    by_id = {one.gold["id"]: one for one in everything}
    rows = ((rung, by_id[name], row) for (name, rung), row in kept(args.out).items())
    told = table(
        (rung, one, {key: row[key] for key in (*(f"beam-{beam}" for beam in BEAMS), "n-best")})
        for rung, one, row in rows
    )
    for name, counts in told.items():
        print(name, dict(counts))


if __name__ == "__main__":
    main()
