"""Engine ports over a tape: they record a live engine, or replay without one."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BeforeValidator, TypeAdapter
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from infra.settings import Settings, settings
from schemas.decision import Policy
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.decoding.ports import CartDecoder, CartRequest, DecodedCart
from services.pipeline.stages import Tools
from services.transcription.confidence import agreement
from services.transcription.ports import Recording, Transcriber
from tests.gate.tape import Key, Tape, digest

T = TypeVar("T")


def _typed(answer: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a recorded answer: on older tapes notes are (kind, words)."""
    notes = (n if isinstance(n, dict) else {"kind": n[0], "heard": n[1]} for n in answer.get("notes", ()))
    return answer | {"notes": list(notes)}


_READING = TypeAdapter(Annotated[DecodedCart, BeforeValidator(_typed)])
_TRANSCRIPT: TypeAdapter[Transcript] = TypeAdapter(Transcript)
_PERHAPS: TypeAdapter[Transcript | None] = TypeAdapter(Transcript | None)
_WORDS = TypeAdapter(str)


class _Shipped(Settings):
    """Settings that ignore the environment."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def shipped(**own: Any) -> Settings:
    """Return the default settings with this machine's weights: other settings would change carts."""
    return _Shipped(models_dir=settings().models_dir, **own)


class TapedDecoder:
    """`CartDecoder` over a tape."""

    def __init__(self, tape: Tape, live: CartDecoder | None = None) -> None:
        self._tape, self._live = tape, live

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> DecodedCart:
        """See `CartDecoder.decode`."""
        key, live = read_key(asked), self._live
        if live is None:
            return self._tape.play(key, _READING)
        return self._tape.record(lambda: live.decode(asked), _READING, key)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Do nothing: the first order prefills the menu."""


class TapedTranscriber:
    """`Transcriber` over a tape; `name` identifies the recognizer."""

    def __init__(self, tape: Tape, name: str, live: Transcriber | None = None) -> None:
        self._tape, self._name, self._live = tape, name, live

    def load(self) -> None:
        """Load the live recognizer, if there is one."""
        if self._live is not None:
            self._live.load()

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """See `Transcriber.transcribe`."""
        return self._answer("whole", recording, _TRANSCRIPT, lambda one: one.transcribe(recording, language))

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_fitted`."""
        return self._answer(
            "fitted", recording, _PERHAPS, lambda one: one.transcribe_fitted(recording, language)
        )

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_denoised`."""
        return self._answer(
            "denoised", recording, _PERHAPS, lambda one: one.transcribe_denoised(recording, language)
        )

    def quiet_words(self, recording: Recording, language: str) -> str:
        """See `Transcriber.quiet_words`."""
        return self._answer("quiet", recording, _WORDS, lambda one: one.quiet_words(recording, language))

    def _answer(
        self,
        kind: str,
        recording: Recording,
        form: TypeAdapter[T],
        ask: Callable[[Transcriber], T],
    ) -> T:
        key, live = (kind, self._name, recording.file.name), self._live
        if live is None or key in self._tape:
            return self._tape.play(key, form)
        return self._tape.record(lambda: ask(live), form, key)


def transcribe_all(recording: Recording, language: str, tools: Tools) -> None:
    """Record every kind of transcript of both recognizers, so that a pipeline that needs others than today's
    can be replayed too."""
    first, second = tools.transcriber(), tools.second_transcriber()
    for one in filter(None, (first, second)):
        one.transcribe(recording, language)
        one.transcribe_fitted(recording, language)
    first.transcribe_denoised(recording, language)
    first.quiet_words(recording, language)


def taped_tools(config: Settings, tape: Tape, live: Any = None) -> Tools:
    """Return the pipeline's tools with all engines on `tape`: recording those of `live`, or replaying. Order
    totals are unlimited, since prices of strangers' menus mean nothing."""
    first = TapedTranscriber(tape, "first", live.transcriber if live else None)
    second = TapedTranscriber(tape, "second", live.second_transcriber if live else None)
    return Tools(
        transcriber=lambda: first,
        second_transcriber=lambda: second if config.whisper_second else None,
        decoder=lambda: TapedDecoder(tape, live.decoder if live else None),
        menu=_unused,
        recording=_unused,
        decode_audio=live.decode_audio if live else _unused,
        agreement=agreement,
        policy=Policy(asr_threshold=config.asr_threshold, max_total=math.inf),
    )


def read_key(asked: CartRequest) -> Key:
    """Return the tape's key of a decoding request."""
    return "read", asked.menu.id, digest(asked.transcript, *([asked.second] if asked.second else []))


def _unused(*_args: Any) -> NoReturn:
    raise NotImplementedError("No recorded order needs this")
