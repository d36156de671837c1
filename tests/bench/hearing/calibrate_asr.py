"""Measures the ASR confidence tables of `services/transcription/confidence.json`.

    python -m tests.bench.hearing.calibrate_asr --data DIR --model faster-whisper-base --write

DIR holds `menu.json`, `gold.jsonl` and `audio/`, in the form of `saycart eval`. Each recording is heard clean
and mixed with noise (even ones: six other recordings talking at once; odd ones: pink noise) at each level of
`--snr`. It was heard right when retrieval (`services/retrieval`) finds in the transcript every item, size and
option of its cart, and no other: what only sounds like a name ("Americana") does not count as wrong. Amounts
("a lot of") and numbers are not looked at. Seeded; on 2 cores base takes about 1 s a recording and level, and
finished ones are kept in `--heard`, so that it can be stopped and gone on with.

With `--second NAME` it measures instead how often an order was heard right in which both recognizers agree
(`tests/bench/hearing/agreement.py`), over the same recordings and noise.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from infra.weights.models import lock
from schemas.menu import Menu
from services.learning.evaluation.statistics import auroc
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import retrieve
from services.transcription.adapted import of_name
from services.transcription.audio.audio import RATE, DecodeLimits, Samples, decode
from services.transcription.audio.containers import sniff_file
from services.transcription.confidence import TABLES
from services.transcription.encoded import FITTED
from services.transcription.whisper import WhisperTranscriber, is_phantom, raw_confidence
from tests.bench.hearing.agreement import Pair, measure
from tests.bench.hearing.segments import row_of, segment_of, transcript_of

SEED = 20240601
BIN = 20  # recordings that are counted together before the table is made monotone
Name = tuple[str | None, ...]


def pink(length: int, rng: np.random.Generator) -> Samples:
    """Noise of equal power an octave, as of a room full of machines."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    bins = np.arange(len(spectrum))
    bins[0] = 1
    return np.fft.irfft(spectrum / np.sqrt(bins), length).astype(np.float32)


def babble(clips: list[Samples], index: int, rng: np.random.Generator) -> Samples:
    """Six other recordings at once, each at its own place and of equal power."""
    length = len(clips[index])
    mixed = np.zeros(length, np.float32)
    for other in rng.choice([i for i in range(len(clips)) if i != index], 6, replace=False):
        clip = clips[other] / np.sqrt(np.mean(clips[other] ** 2) + 1e-12)
        mixed += np.roll(np.resize(clip, length), int(rng.integers(length)))
    return mixed


def in_noise(clips: list[Samples], index: int, snr: int | None) -> Samples:
    """Recording `index` with noise `snr` dB below it; None leaves it clean."""
    clip = clips[index]
    if snr is None:
        return clip
    rng = np.random.default_rng([SEED, index, snr])
    noise = pink(len(clip), rng) if index % 2 else babble(clips, index, rng)
    mixed = clip + noise * np.sqrt(np.mean(clip**2) / np.mean(noise**2) / 10 ** (snr / 10))
    peak = np.abs(mixed).max()
    return (mixed / peak if peak > 1 else mixed).astype(np.float32)


def names_of(cart: dict[str, Any]) -> set[Name]:
    """Every item, size and option of a cart, as kind, group and id."""
    names: set[Name] = set()
    for line in cart["lines"]:
        names.add(("item", None, line["sku"]))
        if line["size"]:
            names.add(("size", None, line["size"]))
        names |= {("option", chosen["group"], chosen["id"]) for chosen in line["options"]}
    return names


def heard_right(text: str, cart: dict[str, Any], menu: MenuNames) -> bool:
    """Return true where retrieval finds every name of a cart in a transcript, and each of its mentions may
    mean one of them."""
    wanted = names_of(cart)
    found = [{(n.kind, n.group, n.id) for n in m.names} for m in retrieve(text, menu).mentions]
    return wanted <= set().union(*found) and all(names & wanted for names in found)


def hear_all(
    ears: WhisperTranscriber,
    clips: list[Samples],
    ids: list[str],
    snrs: list[int | None],
    kept: Path,
    *,
    fitted: bool = False,
) -> list[dict[str, Any]]:
    """A row a recording and level, in order; those already in the file `kept` are not heard again."""
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(row["id"], row["snr"]): row for row in rows}
    with kept.open("a") as file:
        for snr in snrs:
            for index, name in enumerate(ids):
                if (name, snr) in known:
                    continue
                segments = ears.hear(in_noise(clips, index, snr), "en", fitted=fitted)
                row = {"id": name, "snr": snr, "segments": [row_of(segment) for segment in segments]}
                known[name, snr] = row
                file.write(json.dumps(row) + "\n")
                file.flush()
            print(f"heard {len(ids)} at {snr if snr is not None else 'no noise'}", flush=True)
    return [known[name, snr] for snr in snrs for name in ids]


def isotonic(raw: np.ndarray, right: np.ndarray) -> list[list[float]]:
    """Rows [raw_low, raw_mean, count, right, confidence], rising, by pooling adjacent violators.

    A bin's share is (right + 1) / (count + 2), so that no row claims to be certain.
    """
    order = np.argsort(raw, kind="stable")
    pools: list[list[float]] = []  # count, right, sum of raw, sum of shares weighted by count, lowest raw
    for part in np.array_split(order, max(1, len(raw) // BIN)):
        n, good = len(part), int(right[part].sum())
        share = (good + 1) / (n + 2) * n
        pools.append([n, good, float(raw[part].sum()), share, float(raw[part].min())])
        while len(pools) > 1 and pools[-2][3] / pools[-2][0] >= pools[-1][3] / pools[-1][0]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1][:4], last[:4], strict=True)] + [pools[-1][4]]
    return [[round(low, 4), round(s / n, 4), n, good, round(c / n, 4)] for n, good, s, c, low in pools]


def cautious(tables: dict[str, Any]) -> list[list[float]]:
    """Rows [raw, confidence] for what was never measured: the lowest of all tables, less a tenth."""
    rows = []
    for raw in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        lowest = min(
            float(np.interp(raw, [0, *(r[1] for r in t["rows"])], [0, *(r[4] for r in t["rows"])]))
            for t in tables.values()
        )
        rows.append([raw, round(max(0.0, lowest - 0.1), 4)])
    return rows


def as_they_come(tables: dict[str, Any]) -> dict[str, Any]:
    """Tables of first, whole hearings without an adapter: what was never measured is one of those."""
    plain = lock().names
    return {key: table for key, table in tables.items() if key.partition("/")[0] in plain and "+" not in key}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="faster-whisper-base", help="name, or NAME=PATH")
    parser.add_argument("--snr", type=int, nargs="*", default=[20, 10, 5, 0], help="dB, besides clean")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--heard", type=Path, help="where finished hearings are kept")
    parser.add_argument("--second", help="measure agreement with this recogniser; name, or NAME=PATH")
    parser.add_argument("--heard-second", type=Path, help="where its finished hearings are kept")
    parser.add_argument("--fitted", action="store_true", help="with a context of each recording's own length")
    parser.add_argument("--write", action="store_true", help="put what was measured into confidence.json")
    args = parser.parse_args()

    how = f"+{FITTED}" if args.fitted else ""
    ears, kept = _listener(args.model, args.threads), args.heard or _kept(f"{args.model}{how}")
    menu = MenuNames(Menu.parse(json.loads((args.data / "menu.json").read_text())))
    gold = [json.loads(line) for line in (args.data / "gold.jsonl").read_text().splitlines()]
    files = [args.data / "audio" / row["audio"] for row in gold]
    clips = [decode(file, sniff_file(file), DecodeLimits()) for file in files]
    ids = [row["id"] for row in gold]
    rows = hear_all(ears, clips, ids, [None, *args.snr], kept, fitted=args.fitted)
    carts = {row["id"]: row["cart"] for row in gold}
    key = f"{ears.key('en')}{how}"
    document = json.loads(TABLES.read_text())
    data = f"{len(ids)} human orders, {RATE} Hz, clean and at {args.snr} dB of babble or pink noise"
    if args.second:
        second, kept_second = _listener(args.second, args.threads), args.heard_second or _kept(args.second)
        others = hear_all(second, clips, ids, [None, *args.snr], kept_second)
        keys = ears.key("en"), second.key("en")
        found = {"data": data, **measure(pairs(rows, others, keys, carts, menu), menu)}
        print(json.dumps(found))
        if args.write:
            document["agreements"].setdefault(keys[0], {})[keys[1]] = found
            write(document)
        return

    raw, right, levels, silent = [], [], [], 0
    for row in rows:
        segments = [segment_of(kept) for kept in row["segments"]]
        text = " ".join(word.text for s in segments if not is_phantom(s) for word in s.words)
        if not text:
            silent += 1
            continue
        raw.append(raw_confidence(segments))
        right.append(heard_right(text, carts[row["id"]], menu))
        levels.append(row["snr"])
    scores, labels = np.array(raw), np.array(right)
    table = isotonic(scores, labels)
    for snr in [None, *args.snr]:
        at = np.array([level == snr for level in levels])
        print(f"{'clean' if snr is None else f'{snr} dB'}: {labels[at].mean():.3f} of {at.sum()} heard right")
    print(f"{key}: AUROC {auroc(raw, right)}, {silent} without words")
    print("raw mean at 0.72:", round(float(np.interp(0.72, [r[4] for r in table], [r[1] for r in table])), 3))
    print(*table, sep="\n")
    if args.write:
        document["columns"] = ["raw_low", "raw_mean", "count", "right", "confidence"]
        document["tables"][key] = {
            "data": data,
            "heard": len(scores),
            "heard_right": int(labels.sum()),
            "without_words": silent,
            "auroc": round(auroc(raw, right) or 0.0, 3),
            "rows": table,
        }
        document["fallback"] = {"rows": cautious(as_they_come(document["tables"]))}
        write(document)


def pairs(
    rows: list[dict[str, Any]],
    others: list[dict[str, Any]],
    keys: tuple[str, str],
    carts: dict[str, Any],
    menu: MenuNames,
) -> Iterator[Pair]:
    """What both recognizers heard, recording by recording, where the first heard anything."""
    for row, other in zip(rows, others, strict=True):
        first, second = (
            transcript_of([segment_of(kept) for kept in each["segments"]], key)
            for each, key in zip((row, other), keys, strict=True)
        )
        if first.text:
            right = heard_right(first.text, carts[row["id"]], menu)
            yield Pair(first.text, second.text, first.confidence, right)


def _listener(model: str, threads: int) -> WhisperTranscriber:
    name, _, path = model.partition("=")
    return WhisperTranscriber(path or of_name(name, settings().models_dir), name=name, threads=threads)


def _kept(model: str) -> Path:
    return Path(f"heard-{model.partition('=')[0]}.jsonl")


def write(document: dict[str, Any]) -> None:
    """One row a line: a table is read by people."""
    text = re.sub(
        r"\[\s+([^\[\]]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", json.dumps(document, indent=1)
    )
    TABLES.write_text(text + "\n")


if __name__ == "__main__":
    main()
