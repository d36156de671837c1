"""The engines of one process, wired from settings: recognizers and the decode server.

Each is created and imported on first use.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from infra.observability import tracing
from infra.settings import Settings
from schemas.errors import EngineUnavailable
from services.transcription.ports import Transcriber

if TYPE_CHECKING:
    from collections.abc import Collection

    from services.decoding.decoder import OpenAIDecoder
    from services.transcription.audio.audio import Samples
    from services.transcription.denoiser import Denoiser


class EngineParts:
    """Engines, which depend only on settings, not on database or queue."""

    settings: Settings

    @cached_property
    def transcriber(self) -> Transcriber:
        from infra.weights.models import resolve
        from services.transcription.denoiser import Denoiser

        config = self.settings
        if not config.denoiser:
            return self._transcriber(config.whisper_model)
        # Resolved when it is needed: orders can do without it.
        denoiser = Denoiser(lambda: Path(resolve(config.denoiser, config.models_dir)), config.threads)
        return self._transcriber(config.whisper_model, denoiser=denoiser)

    @cached_property
    def second_transcriber(self) -> Transcriber | None:
        name = self.settings.whisper_second
        return self._transcriber(name, role="second_transcription") if name else None

    def _transcriber(
        self, name: str, role: str = "transcription", denoiser: Denoiser | None = None
    ) -> Transcriber:
        from services.transcription.adapted import adapter_of, languages, of_name
        from services.transcription.by_language import ByLanguage
        from services.transcription.whisper import WhisperTranscriber

        config = self.settings

        def recognizer(name: str) -> WhisperTranscriber:
            return WhisperTranscriber(
                of_name(name, config.models_dir),
                name=name,
                threads=config.threads,
                role=role,
                denoiser=denoiser,
            )

        adapter = adapter_of(name)
        if adapter is None:
            return recognizer(name)
        return ByLanguage(dict.fromkeys(languages(adapter), recognizer(adapter.name)), recognizer(name))

    def write_adapted(self, models: Collection[str]) -> None:
        """Write missing adapted weights of recognizers among `models`; otherwise that happens on first use.

        Raises:
            EngineMisconfigured, OSError: as `adapted`.
        """
        from services.transcription.adapted import adapter_of, of_name

        config = self.settings
        names = {config.whisper_model, config.whisper_second}.intersection(models)
        for adapter in filter(None, map(adapter_of, sorted(names))):
            of_name(adapter.name, config.models_dir)

    @tracing.span("decode audio")
    def decode_audio(self, file: Path) -> Samples:
        """Return the samples of a stored recording; raises as `services.transcription.audio.audio.read`."""
        from services.transcription.audio.audio import DecodeLimits, read

        config = self.settings
        limits = DecodeLimits(max_audio_s=config.max_audio_s, max_bytes=config.max_upload_bytes)
        return read(file, limits)

    @cached_property
    def decoder(self) -> OpenAIDecoder:
        """The decoder of carts and masked calls, a client of the decode server."""
        from services.decoding.decoder import OpenAIDecoder

        config = self.settings
        if not config.llm_url:
            raise EngineUnavailable(
                "No decode server is set",
                hint="Use `saycart run` for the embedded one, or set SAYCART_LLM_URL.",
            )
        return OpenAIDecoder(
            config.llm_base,
            dialect=config.llm_dialect,
            model=config.llm_model,
            timeout_s=config.llm_timeout_s,
            api_key=config.llm_api_key,
            adapter=self.adapter.name if self.adapter else "",
            order_tokens=config.order_tokens,
            # With a second try of full length this stays under the stage's limit.
            patience_s=config.llm_timeout_s / 4,
        )

    @cached_property
    def adapter(self) -> Path | None:
        """The adapter for the configured model; None if there is none."""
        from infra.weights.adapters import adapter_for

        return adapter_for(self.settings.llm_model)
