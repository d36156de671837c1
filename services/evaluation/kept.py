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
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from schemas.cart import CartDraft
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services import decoding, engines
from services.bootstrap import Container
from services.decoding.spellings import CART_JSON, EXPLAINED, MenuContext, Spelling, learned
from services.engines.ports import CartDecoder, Reading, Recording, Transcriber
from services.engines.reader.adapters import release
from services.engines.recognition.adapted import adapter_of
from services.pipeline.ports import Tools

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


class KeptEars:
    """`Transcriber` that keeps what `ears`, called `name`, hears."""

    def __init__(self, ears: Transcriber, name: str, kept: Kept) -> None:
        self._ears, self._name, self._kept = ears, name, kept

    def load(self) -> None:
        """Nothing: the model is loaded by the first recording that was not heard before."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """See `Transcriber.transcribe`."""
        asked = [self._name, _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _HEARING, lambda: self._ears.transcribe(recording, language)
        )

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_fitted`."""
        asked = [self._name, "fitted", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _PERHAPS, lambda: self._ears.transcribe_fitted(recording, language)
        )

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_denoised`."""
        asked = [self._name, "denoised", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _PERHAPS, lambda: self._ears.transcribe_denoised(recording, language)
        )

    def quiet_words(self, recording: Recording, language: str) -> str:
        """See `Transcriber.quiet_words`."""
        asked = [self._name, "quiet", _bytes(recording), language]
        return self._kept.answer(
            "hearings", asked, _WORDS, lambda: self._ears.quiet_words(recording, language)
        )

    def hear_again(self, recording: Recording, first: Transcript, hints: Sequence[str]) -> Transcript:
        """See `Transcriber.hear_again`."""
        asked = [self._name, _bytes(recording), first.model_dump(mode="json"), list(hints)]
        return self._kept.answer(
            "hearings", asked, _HEARING, lambda: self._ears.hear_again(recording, first, hints)
        )


class KeptDecoder:
    """`CartDecoder` that keeps what `decoder`, asking `model` with `reader` and `checker`, releases of
    adapters, decodes."""

    def __init__(
        self,
        decoder: CartDecoder,
        model: str,
        kept: Kept,
        reader: str = "",
        checker: str = "",
        spelling: Spelling = CART_JSON,
    ) -> None:
        self._decoder, self._model, self._kept = decoder, model, kept
        self._reader, self._checker, self._spelling = reader, checker, spelling

    def decode(
        self,
        evidence: Evidence,
        called_off: threading.Event | None = None,
        expected: CartDraft | None = None,
        *,
        settled: bool = False,
        in_gaps: bool = False,
    ) -> Reading:
        """See `CartDecoder.decode`."""
        context = MenuContext(evidence.menu)
        spelling = self._spelling if self._reader else EXPLAINED
        chat = spelling.messages(evidence.transcript, context)
        asked = [self._model, self._reader, chat, spelling.mask(evidence.transcript, context).lark]
        if settled and self._checker:
            asked.append(self._checker)
        return self._kept.answer(
            "carts",
            asked,
            _READING,
            lambda: self._decoder.decode(evidence, called_off, expected, settled=settled, in_gaps=in_gaps),
        )

    def warm(self, evidence: Evidence, called_off: threading.Event | None = None) -> None:
        """Nothing: the first order that was not decoded before pays for the prompt."""


def keep(parts: Container, folder: Path) -> tuple[Tools, Kept]:
    """A process's tools whose hearings and carts are kept in `folder`, and what counts them."""
    kept, config = Kept(folder), parts.settings
    model = f"{config.llm_dialect}:{config.llm_model}"
    reader = release(parts.adapter) if parts.adapter else ""
    checker = release(parts.checker) if parts.checker else ""
    spelling = learned(parts.adapter)

    def ears_of(ears: Transcriber, model: str) -> KeptEars:
        adapter = adapter_of(model)
        told = [model, config.whisper_device, *([release(adapter)] if adapter else [])]
        return KeptEars(ears, "/".join(told), kept)

    def second() -> Transcriber | None:
        ears = parts.second_transcriber
        return ears_of(ears, config.whisper_second) if ears else None

    tools = replace(
        parts.tools,
        transcriber=lambda: ears_of(parts.transcriber, config.whisper_model),
        second_transcriber=second,
        decoder=lambda: KeptDecoder(parts.readers, model, kept, reader, checker, spelling),
    )
    return tools, kept


def _bytes(recording: Recording) -> str:
    return hashlib.sha256(recording.file.read_bytes()).hexdigest()


@cache
def _code() -> str:
    """Stands for the engines' code, and for the libraries that it calls."""
    told = hashlib.sha256()
    rooms = (engines, decoding)
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
