"""Engines whose answers are kept on disk, for measurements: what was asked before is not computed again.

An answer is kept under all that it depends on: the recording's bytes or the whole request, the model's name,
the code of the engines and the versions of the host libraries. So a kept answer is the one that would
come now, as far as a model answers alike twice; only its time is none. Never wired into a stack that serves.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from infra.weights.adapters import release
from schemas.menu import Menu
from schemas.transcript import Transcript
from services import decoding, transcription
from services.bootstrap import Container
from services.decoding.menu_context import MenuContext
from services.decoding.ports import CartDecoder, CartRequest, Reading
from services.decoding.wire_mask import wire_mask
from services.pipeline.ports import Tools
from services.transcription.adapted import adapter_of
from services.transcription.ports import Recording, Transcriber

T = TypeVar("T")

_HOSTS = ("faster-whisper", "ctranslate2", "onnxruntime", "llguidance", "xllamacpp")
_HEARING, _READING = TypeAdapter(Transcript), TypeAdapter(Reading)
_PERHAPS: TypeAdapter[Transcript | None] = TypeAdapter(Transcript | None)
_WORDS = TypeAdapter(str)


class Kept:
    """A folder of answers; several processes may share it.

    `taken` counts the answers that were there already, by kind (`hearings`, `carts`), `made` the others.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._counting = threading.Lock()
        self.taken: Counter[str] = Counter()
        self.made: Counter[str] = Counter()

    def answer(self, kind: str, asked: Any, form: TypeAdapter[T], make: Callable[[], T]) -> T:
        """What was answered to `asked` (plain values), from the folder or else by `make`.

        Raises: as `make`; an error is not kept.
        """
        told = json.dumps([_code(), kind, asked], sort_keys=True)
        file = self._folder / f"{hashlib.sha256(told.encode()).hexdigest()}.json"
        try:
            answer, counts = form.validate_json(file.read_bytes()), self.taken
        except (FileNotFoundError, ValidationError):
            # Not there, or by a version whose answers had other fields.
            answer, counts = make(), self.made
            self._write(file, form.dump_json(answer))
        with self._counting:
            counts[kind] += 1
        return answer

    def _write(self, file: Path, content: bytes) -> None:
        # In one step, so that a run which is cut off leaves no half an answer.
        handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.replace(name, file)


class KeptTranscriber:
    """`Transcriber` that keeps what `transcriber`, called `name`, hears."""

    def __init__(self, transcriber: Transcriber, name: str, kept: Kept) -> None:
        self._transcriber, self._name, self._kept = transcriber, name, kept

    def load(self) -> None:
        """Nothing: the model is loaded by the first recording that was not heard before."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """See `Transcriber.transcribe`."""
        asked = [self._name, _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _HEARING, lambda: self._transcriber.transcribe(recording, language)
        )

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_fitted`."""
        asked = [self._name, "fitted", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _PERHAPS, lambda: self._transcriber.transcribe_fitted(recording, language)
        )

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_denoised`."""
        asked = [self._name, "denoised", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _PERHAPS, lambda: self._transcriber.transcribe_denoised(recording, language)
        )

    def quiet_words(self, recording: Recording, language: str) -> str:
        """See `Transcriber.quiet_words`."""
        asked = [self._name, "quiet", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _WORDS, lambda: self._transcriber.quiet_words(recording, language)
        )


class KeptDecoder:
    """`CartDecoder` that keeps what `decoder` answers: `model` with the adapter of release `adapter`."""

    def __init__(self, decoder: CartDecoder, model: str, kept: Kept, adapter: str = "") -> None:
        self._decoder, self._model, self._kept, self._adapter = decoder, model, kept, adapter

    def decode(
        self,
        asked: CartRequest,
        called_off: threading.Event | None = None,
        *,
        in_gaps: bool = False,
    ) -> Reading:
        """See `CartDecoder.decode`."""
        context = MenuContext(asked.menu)
        chat = context.messages(asked, trained=bool(self._adapter))
        key = [self._model, self._adapter, chat, wire_mask(context.names, asked.transcript).lark]
        return self._kept.answer(
            "carts", key, _READING, lambda: self._decoder.decode(asked, called_off, in_gaps=in_gaps)
        )

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Nothing: the first order that was not decoded before pays for the prompt."""


def keep(parts: Container, folder: Path) -> tuple[Tools, Kept]:
    """A process's tools whose hearings and carts are kept in `folder`, and what counts them."""
    kept, config = Kept(folder), parts.settings
    model = f"{config.llm_dialect}:{config.llm_model}"
    adapter = release(parts.adapter) if parts.adapter else ""

    def kept_transcriber(transcriber: Transcriber, model: str) -> KeptTranscriber:
        trained = adapter_of(model)
        told = [model, config.whisper_device, *([release(trained)] if trained else [])]
        return KeptTranscriber(transcriber, "/".join(told), kept)

    def second() -> Transcriber | None:
        transcriber = parts.second_transcriber
        return kept_transcriber(transcriber, config.whisper_second) if transcriber else None

    tools = replace(
        parts.tools,
        transcriber=lambda: kept_transcriber(parts.transcriber, config.whisper_model),
        second_transcriber=second,
        decoder=lambda: KeptDecoder(parts.readers, model, kept, adapter),
    )
    return tools, kept


def _bytes(recording: Recording) -> str:
    return hashlib.sha256(recording.file.read_bytes()).hexdigest()


@cache
def _code() -> str:
    """Stands for the engines' code, and for the libraries that it calls."""
    told = hashlib.sha256()
    rooms = (transcription, decoding)
    files = (file for room in rooms for file in Path(room.__path__[0]).rglob("*"))
    for file in sorted(files):
        if file.suffix in (".py", ".json", ".toml"):
            told.update(file.name.encode() + b"\0" + file.read_bytes())
    told.update(json.dumps([_version(host) for host in _HOSTS]).encode())
    return told.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # a machine that serves no model itself
        return None
