"""A finished recording: speech with pauses around it, noise, a band, and one loudness for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.golden import noise
from tests.golden.files import RATE
from tests.golden.noise import Audio
from tests.golden.speak.voices import Voices

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


@dataclass(frozen=True)
class Noise:
    """What is mixed into a recording."""

    kind: Literal["babble", "car"]
    snr_db: float
    seed: int


def record(
    voices: Voices,
    text: str,
    voice: str,
    speed: float = 1.0,
    around: Noise | None = None,
    band: Literal["wide", "telephone"] = "wide",
) -> Audio:
    """`text` spoken, `RATE` Hz mono."""
    speech = np.pad(voices.say(text, voice, speed), (int(LEAD_S * RATE), int(TAIL_S * RATE)))
    speech = speech.astype(np.float32)
    if around and around.kind == "babble":
        talkers = [voices.say(said, other, 1.0) for other, said in BABBLE_TALK if other != voice]
        heard = noise.babble(talkers, len(speech), RATE, around.seed)
        speech = noise.mix(speech, heard, around.snr_db, RATE)
    elif around:
        speech = noise.mix(speech, noise.car(len(speech), RATE, around.seed), around.snr_db, RATE)
    if band == "telephone":
        speech = noise.telephone(speech, RATE)
    level = speech * 10 ** (LEVEL_DBFS / 20) / noise.speech_rms(speech, RATE)
    return (level * min(1.0, 0.98 / float(np.abs(level).max()))).astype(np.float32)
