"""Recordings of real people's orders, with added noise, and the correctness of their transcripts.

A folder holds `menu.json`, `gold.jsonl` and `audio/`, as for `saycart eval`. Each recording is used clean and
mixed with noise at each level: six other recordings for even ones, pink noise for odd ones. Seeded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schemas.menu import Menu
from schemas.transcript import Word
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import retrieve
from services.transcription.audio.audio import RATE, DecodeLimits, Samples, decode
from services.transcription.audio.containers import sniff_file
from services.transcription.segments import Segment

SEED = 20240601
Name = tuple[str | None, ...]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class People:
    """The orders of a folder with their recordings, and noise levels (dB, None for clean)."""

    names: MenuNames
    gold: list[Row]
    clips: list[Samples]
    snrs: list[int | None]

    @classmethod
    def of(cls, data: Path, snrs: list[int]) -> People:
        gold = [json.loads(line) for line in (data / "gold.jsonl").read_text().splitlines()]
        files = [data / "audio" / row["audio"] for row in gold]
        clips = [decode(file, sniff_file(file), DecodeLimits()) for file in files]
        menu = Menu.parse(json.loads((data / "menu.json").read_text()))
        return cls(MenuNames(menu), gold, clips, [None, *snrs])

    @property
    def about(self) -> str:
        return f"{len(self.gold)} human orders, {RATE} Hz, at {self.snrs[1:]} dB of babble or pink noise"

    def transcribed(self, run: Callable[[Samples], Row], kept: Path) -> list[Row]:
        """Return a row of `run` for each recording and level, except those already in the file `kept`."""
        rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        known = {(row["id"], row["snr"]): row for row in rows}
        with kept.open("a") as file:
            for snr in self.snrs:
                for index, order in enumerate(self.gold):
                    if (key := (order["id"], snr)) not in known:
                        known[key] = {"id": key[0], "snr": snr, **run(in_noise(self.clips, index, snr))}
                        file.write(json.dumps(known[key]) + "\n")
                        file.flush()
                print(f"{len(self.gold)} at {level(snr)}", flush=True)
        return [known[order["id"], snr] for snr in self.snrs for order in self.gold]

    def right(self, text: str, order: str) -> bool:
        """Return True if a transcript of an order is right (`is_right`)."""
        [cart] = [row["cart"] for row in self.gold if row["id"] == order]
        return is_right(text, cart, self.names)


def level(snr: int | None) -> str:
    return "clean" if snr is None else f"{snr} dB"


def pink(length: int, rng: np.random.Generator) -> Samples:
    """Pink noise: equal power per octave."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    bins = np.arange(len(spectrum))
    bins[0] = 1
    return np.fft.irfft(spectrum / np.sqrt(bins), length).astype(np.float32)


def babble(clips: list[Samples], index: int, rng: np.random.Generator) -> Samples:
    """Six other recordings at once, at random offsets and equal power."""
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
    """Return the items, sizes and options of a cart as (kind, group, id)."""
    names: set[Name] = set()
    for line in cart["lines"]:
        names.add(("item", None, line["sku"]))
        if line["size"]:
            names.add(("size", None, line["size"]))
        names |= {("option", chosen["group"], chosen["id"]) for chosen in line["options"]}
    return names


def is_right(text: str, cart: dict[str, Any], menu: MenuNames) -> bool:
    """Return True if retrieval finds every name of the cart in a transcript, and each mention can mean
    one."""
    wanted = names_of(cart)
    found = [{(n.kind, n.group, n.id) for n in m.names} for m in retrieve(text, menu).mentions]
    return wanted <= set().union(*found) and all(names & wanted for names in found)


def row_of(segment: Segment) -> Row:
    words = [[w.text, w.start_s, w.end_s, w.probability] for w in segment.words]
    measures = [segment.avg_logprob, segment.no_speech, segment.compression]
    return {"text": segment.text, "words": words, "measures": measures}


def segment_of(row: Row) -> Segment:
    words = tuple(Word(text=t, start_s=s, end_s=e, probability=p) for t, s, e, p in row["words"])
    return Segment(row["text"], words, *row["measures"])
