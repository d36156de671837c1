"""faster-whisper behind the Transcriber port.

Whisper gets our own samples (`audio.py`), never a path. The options are fixed, because the confidence table
is measured for exactly these; each deviates from the library's default for a reason given beside it.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import structlog

from infra.observability import tracing
from infra.observability.measures import engine_took
from schemas.errors import EngineMisconfigured, EngineUnavailable
from schemas.transcript import Transcript, Word
from services.transcription.audio.audio import RATE, Samples
from services.transcription.confidence import is_measured
from services.transcription.denoiser import DENOISED, LONGEST_S, Denoiser
from services.transcription.encoded import FITTED, Encoded
from services.transcription.memory import keep_memory
from services.transcription.ports import Recording
from services.transcription.segments import Segment, is_phantom, transcript_of

log = structlog.get_logger()

# ONNX Runtime, which finds the speech for faster-whisper, else tells its maker about each use, under an id of
# this machine. It reads this when it is imported, which `load` does.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

OPTIONS: dict[str, Any] = {
    "beam_size": 5,
    # No fallback to higher temperatures: on noise it costs up to 30 s and yields invented text.
    "temperature": 0.0,
    # Silence never reaches the model, which would answer it with "Thank you."
    "vad_filter": True,
    # A wrong first half must not talk the second half into its mistake.
    "condition_on_previous_text": False,
    "word_timestamps": True,
    # Half the context, as in OpenAI's own decoder: a loop on noise ends after 2 s, not 5 s, and no one
    # says 224 tokens in the 30 s of a window.
    "max_new_tokens": 224,
    # No menu words as `hotwords` or `initial_prompt`: they invent orders out of silence.
    # The three thresholds below are ours to apply, segment by segment, after the fact.
    "no_speech_threshold": None,
    "log_prob_threshold": None,
    "compression_ratio_threshold": None,
}
OPTIONS_KEY = "beam5-t0-vad"
COMPUTE = {"cpu": "int8", "cuda": "float16"}

_UNSPACED = frozenset(("zh", "yue", "ja", "th", "lo", "my"))  # the recogniser splits these by character


class WhisperTranscriber:
    """Hears recordings with one model, loaded on first use (base: 0.15 GB) or by `load`.

    Args:
        model: what `infra.weights.models.resolve` gave: a directory of CTranslate2 weights, or a hub name.
        name: the name in the model lock; with the options it is the key of the confidence table.
        device: `cpu` (int8) or `cuda` (float16).
        threads: CPU threads of one transcription.
        role: what its times are measured as; a fitted pass adds `_fitted`, one with the noise turned down
            `_denoised`, one of quiet speech `_quiet`.
        denoiser: what turns noise down; None where nothing does.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        device: str = "cpu",
        threads: int = 2,
        role: str = "hearing",
        denoiser: Denoiser | None = None,
    ) -> None:
        self._model_path, self._device, self._threads = model, device, threads
        self._compute = COMPUTE.get(device, "default")
        self._name = name
        self._role, self._denoiser = role, denoiser
        self._model: Any = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Load the weights now, so that the first order does not wait for them.

        Raises:
            EngineMisconfigured: no such model, or a device or precision that this machine lacks.
        """
        with self._loading:
            if self._model is not None:
                return
            from faster_whisper import WhisperModel  # late: its import costs more than an API process has

            keep_memory()
            try:
                self._model = WhisperModel(
                    self._model_path,
                    device=self._device,
                    compute_type=self._compute,
                    cpu_threads=self._threads,
                )
            except (OSError, ValueError, RuntimeError) as error:
                raise EngineMisconfigured(
                    f"The speech model {self._name!r} can't be loaded: {error}",
                    hint="Check SAYCART_WHISPER_MODEL, _SECOND and _DEVICE; `saycart doctor` tells.",
                ) from error
            self._model.encode = Encoded(self._model.encode)

    @tracing.traced("hear")
    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """As the port says. `language` is the menu's (`en`, `en-US`); only its first part counts."""
        language = self._noted(language)
        return self._transcribed(recording.samples, language, self.key(language), self._role)

    @tracing.traced("hear fitted")
    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """As the port says: where there is a confidence table for it."""
        language = self._noted(language)
        key = f"{self.key(language)}+{FITTED}"
        if not is_measured(key):
            return None
        return self._transcribed(recording.samples, language, key, f"{self._role}_{FITTED}", fitted=True)

    @tracing.traced("hear denoised")
    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """As the port says: where there is noise, and a confidence table for it; not of a long recording."""
        language = self._noted(language)
        key = f"{self.key(language)}+{DENOISED}"
        if self._denoiser is None or not is_measured(key):
            return None
        samples = recording.samples
        if samples.size > LONGEST_S * RATE:
            return None
        try:
            quieter = self._denoiser(samples)
        except Exception:
            # Weights that are not there, memory: what was heard stands as it is.
            log.warning("transcribe.denoiser_failed", exc_info=True)
            return None
        if not quieter.was_noisy:
            return None
        return self._transcribed(quieter.samples, language, key, f"{self._role}_{DENOISED}")

    @tracing.traced("hear what was quiet")
    def quiet_words(self, recording: Recording, language: str) -> str:
        """As the port says (`quiet.py`)."""
        from services.transcription.quiet import LENIENT, left_out  # late, as the model

        samples = recording.samples
        if not (stretches := left_out(samples)):
            return ""
        with engine_took(f"{self._role}_quiet"):
            segments = self.hear(samples, _first_part(language), vad_parameters={"threshold": LENIENT})
        words = [word for one in segments if not is_phantom(one) for word in one.words]
        middles = [(word, (word.start_s + word.end_s) / 2) for word in words]
        return " ".join(
            word.text for word, middle in middles if any(start <= middle <= end for start, end in stretches)
        )

    def _transcribed(
        self, samples: Samples, language: str, key: str, role: str, *, fitted: bool = False
    ) -> Transcript:
        with engine_took(role):
            segments = self.hear(samples, language, fitted=fitted)
        return transcript_of(segments, key, language, samples.size / RATE)

    def _noted(self, language: str) -> str:
        """The language as the model knows it; the model's name goes to the trace."""
        tracing.note({"saycart.model": self._name})
        return _first_part(language)

    def key(self, language: str) -> str:
        """Model, precision, options and language: what a confidence table holds for."""
        return f"{self._name}/{self._compute}/{OPTIONS_KEY}/{language}"

    def hear(
        self,
        samples: Samples,
        language: str,
        *,
        fitted: bool = False,
        **options: Any,
    ) -> list[Segment]:
        """Every segment that the model wrote, phantoms too, for float32 mono `samples` at `RATE`; `options`
        go before `OPTIONS`. `fitted`: in windows of the recording's own length (`encoded.py`).

        Raises:
            EngineMisconfigured: the model does not know `language`.
            EngineUnavailable: the model failed (memory, GPU).
        """
        self.load()
        if language not in self._model.supported_languages:
            raise EngineMisconfigured(
                f"The speech model {self._name!r} does not hear {language!r}.",
                hint="Use a multilingual model (one without `.en`) for menus in this language.",
            )
        try:
            with self._model.encode.fitted(fitted):
                found, _ = self._model.transcribe(samples, language=language, **{**OPTIONS, **options})
                segments: list[Segment] = []
                for one in found:  # each window when it is asked for
                    words = _words(one.words or (), spaced=language not in _UNSPACED)
                    measures = one.avg_logprob, one.no_speech_prob, one.compression_ratio
                    segments.append(Segment(one.text, words, *measures))
                return segments
        except (RuntimeError, MemoryError) as error:
            raise EngineUnavailable(f"The speech model failed: {error}") from error


def _first_part(language: str) -> str:
    return language.split("-")[0].lower()


def _words(found: Any, *, spaced: bool) -> tuple[Word, ...]:
    """Words without the spaces around them; a piece that began without one belongs to the word before.

    The recogniser cuts "half-and-half" into such pieces; their word is as sure as its least sure piece.
    """
    words: list[Word] = []
    for piece in found:
        text = "".join(piece.word.split()) if spaced else piece.word.strip()
        if not text:
            continue
        start, end = max(0.0, float(piece.start)), max(0.0, float(piece.start), float(piece.end))
        probability = min(1.0, max(0.0, float(piece.probability)))
        if spaced and words and not piece.word.startswith(" "):
            before = words.pop()
            text, start = before.text + text, before.start_s
            probability = min(probability, before.probability)
        words.append(Word(text=text, start_s=start, end_s=end, probability=probability))
    return tuple(words)
