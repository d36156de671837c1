"""faster-whisper behind the Transcriber port.

Whisper gets decoded samples (`audio.py`), never a path. The options are fixed, since the confidence table was
measured for exactly these; each deviates from the library's default for the reason in its comment.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import structlog

from infra.observability import tracing
from infra.observability.measures import time_engine
from schemas.errors import EngineMisconfigured, EngineUnavailable
from schemas.transcript import Transcript, Word
from services.transcription.audio.audio import RATE, Samples
from services.transcription.confidence import is_measured
from services.transcription.denoiser import DENOISED, LONGEST_S, Denoiser
from services.transcription.encoded import FITTED, FittedEncoder
from services.transcription.memory import keep_memory
from services.transcription.ports import Recording
from services.transcription.segments import Segment, is_phantom, transcript_of

log = structlog.get_logger()

# Otherwise ONNX Runtime, faster-whisper's voice detector, reports its use to its maker with an id of this
# machine. It reads this variable on import, in `load`.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

OPTIONS: dict[str, Any] = {
    "beam_size": 5,
    # No fallback to higher temperatures: on noise it takes up to 30 s and invents text.
    "temperature": 0.0,
    # Silence must not reach the model, which would write "Thank you."
    "vad_filter": True,
    # A wrong first half must not mislead the second half.
    "condition_on_previous_text": False,
    "word_timestamps": True,
    # Half the context, as in OpenAI's decoder: a loop on noise ends after 2 s, not 5 s, and no order
    # has 224 tokens in a window of 30 s.
    "max_new_tokens": 224,
    # No menu words as `hotwords` or `initial_prompt`: they invent orders out of silence.
    # `segments.py` applies these three thresholds afterwards, by segment.
    "no_speech_threshold": None,
    "log_prob_threshold": None,
    "compression_ratio_threshold": None,
}
OPTIONS_KEY = "beam5-t0-vad"
COMPUTE = "int8"

_UNSPACED = frozenset(("zh", "yue", "ja", "th", "lo", "my"))  # split by character


class WhisperTranscriber:
    """Transcribes recordings with one model, loaded on first use (base: 0.15 GB) or by `load`.

    Args:
        model: a folder of CTranslate2 weights or a hub name, from `infra.weights.models.resolve`.
        name: the name in the model lock, a part of the confidence table's key.
        threads: CPU threads of one transcription.
        role: the engine's name in metrics; other passes add `_fitted`, `_denoised` or `_quiet`.
        denoiser: reduces noise; None for none.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        threads: int = 2,
        role: str = "transcription",
        denoiser: Denoiser | None = None,
    ) -> None:
        self._model_path, self._threads = model, threads
        self._name = name
        self._role, self._denoiser = role, denoiser
        self._model: Any = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Load the weights now rather than with the first order.

        Raises:
            EngineMisconfigured: no such model.
        """
        with self._loading:
            if self._model is not None:
                return
            from faster_whisper import WhisperModel  # lazy: the import takes a lot of memory

            keep_memory()
            try:
                self._model = WhisperModel(
                    self._model_path,
                    device="cpu",
                    compute_type=COMPUTE,
                    cpu_threads=self._threads,
                )
            except (OSError, ValueError, RuntimeError) as error:
                raise EngineMisconfigured(
                    f"The speech model {self._name!r} can't be loaded: {error}",
                    hint="Check SAYCART_WHISPER_MODEL and _SECOND; `saycart doctor` shows more.",
                ) from error
            self._model.encode = FittedEncoder(self._model.encode)

    @tracing.span("transcribe")
    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """See `Transcriber.transcribe`. Only the first part of `language` (`en-US`) counts."""
        return self._transcribed(recording, recording.samples, self._traced_language(language))

    @tracing.span("transcribe fitted")
    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_fitted`."""
        language = self._traced_language(language)
        if not is_measured(self.key(language, FITTED)):
            return None
        return self._transcribed(recording, recording.samples, language, FITTED)

    @tracing.span("transcribe denoised")
    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_denoised`."""
        language = self._traced_language(language)
        if self._denoiser is None or not is_measured(self.key(language, DENOISED)):
            return None
        if recording.samples.size > LONGEST_S * RATE:
            return None
        try:
            quieter = self._denoiser(recording.samples)
        except Exception:
            # Missing weights, out of memory: the first transcript stands.
            log.warning("transcribe.denoiser_failed", exc_info=True)
            return None
        return (
            self._transcribed(recording, quieter.samples, language, DENOISED) if quieter.was_noisy else None
        )

    @tracing.span("transcribe quiet")
    def quiet_words(self, recording: Recording, language: str) -> str:
        """See `Transcriber.quiet_words`."""
        from services.transcription.quiet import LENIENT, quiet_spans  # lazy, as the model

        samples = recording.samples
        if not (spans := quiet_spans(samples)):
            return ""
        with time_engine(f"{self._role}_quiet"):
            segments = self.segments(samples, _first_part(language), vad_parameters={"threshold": LENIENT})
        words = [word for segment in segments if not is_phantom(segment) for word in segment.words]
        middles = [(word, (word.start_s + word.end_s) / 2) for word in words]
        return " ".join(
            word.text for word, middle in middles if any(start <= middle <= end for start, end in spans)
        )

    def _transcribed(
        self, recording: Recording, samples: Samples, language: str, variant: str = ""
    ) -> Transcript:
        """Transcribe by a pass: with whole windows, or `FITTED` or `DENOISED`."""
        with time_engine(f"{self._role}_{variant}".removesuffix("_")):
            segments = self.segments(samples, language, fitted=variant == FITTED, check=recording.check)
        return transcript_of(segments, self.key(language, variant), language, samples.size / RATE)

    def _traced_language(self, language: str) -> str:
        """Return the model's language code; adds the model's name to the trace."""
        tracing.note({"saycart.model": self._name})
        return _first_part(language)

    def key(self, language: str, variant: str = "") -> str:
        """Return the key of the confidence table: model, precision, options, language and pass."""
        return f"{self._name}/{COMPUTE}/{OPTIONS_KEY}/{language}+{variant}".removesuffix("+")

    def segments(
        self,
        samples: Samples,
        language: str,
        *,
        fitted: bool = False,
        check: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> list[Segment]:
        """Return all segments, including phantoms, of float32 mono `samples` at `RATE`. `options` override
        `OPTIONS`; `fitted` uses windows of the recording's length (`encoded.py`); what `check` raises ends
        it between two windows.

        Raises:
            EngineMisconfigured: the model doesn't support `language`.
            EngineUnavailable: the model failed (memory, GPU).
        """
        self.load()
        if language not in self._model.supported_languages:
            raise EngineMisconfigured(
                f"The speech model {self._name!r} doesn't support {language!r}.",
                hint="Use a multilingual model (one without `.en`) for menus in this language.",
            )
        try:
            with self._model.encode.fitted(fitted):
                lazy, _ = self._model.transcribe(samples, language=language, **{**OPTIONS, **options})
                segments = []
                for piece in lazy:
                    words = _words(piece.words or (), spaced=language not in _UNSPACED)
                    measures = piece.avg_logprob, piece.no_speech_prob, piece.compression_ratio
                    segments.append(Segment(piece.text, words, *measures))
                    check()
                return segments
        except (RuntimeError, MemoryError) as error:
            raise EngineUnavailable(f"The speech model failed: {error}") from error


def _first_part(language: str) -> str:
    return language.split("-")[0].lower()


def _words(pieces: Any, *, spaced: bool) -> tuple[Word, ...]:
    """Return words without spaces; a piece that doesn't begin with a space belongs to the word before.

    Whisper splits "half-and-half" into such pieces; a word is as likely as its least likely piece.
    """
    words: list[Word] = []
    for piece in pieces:
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
