"""Recordings that can't be used; never worth a retry."""

from __future__ import annotations

from schemas.errors.requests import InputError


class AudioRefused(InputError):
    """Unplayable: its file is deleted when the order ends."""

    code = "audio_refused"


class UnsupportedAudio(AudioRefused):
    code = "unsupported_audio"
    hint = "Send WAV, FLAC, Ogg/Opus, MP3, M4A or WebM. The file's first bytes decide, not its name."


class AudioTooLarge(AudioRefused):
    code = "audio_too_large"
    hint = "Send a shorter recording or a compressed one (Opus at 24 kbit/s is plenty for speech)."


class AudioTooLong(AudioRefused):
    code = "audio_too_long"
    hint = "Send one order per recording, without long silences."


class AudioTooCostly(AudioRefused):
    code = "audio_too_costly"
    hint = "Record it again, with one sample rate and the same channels throughout."


class AudioDamaged(AudioRefused):
    code = "audio_damaged"
    hint = "The upload was probably cut off. Send the whole file again."
