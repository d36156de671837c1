"""Recordings of every accepted container, whole, cut off and hostile, through the real decoding child."""

from __future__ import annotations

import errno
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from schemas.errors import (
    AudioDamaged,
    AudioTooCostly,
    AudioTooLarge,
    AudioTooLong,
    EngineUnavailable,
    SaycartError,
    UnsupportedAudio,
)
from services.transcription.audio import audio
from services.transcription.audio.audio import RATE, DecodeLimits, decode, read
from services.transcription.audio.containers import AudioContainer

SECONDS = 2.5
KINDS = {
    "pcm.wav": ("wav", "pcm_s16le", 44_100),
    "float.wav": ("wav", "pcm_f32le", 48_000),
    "law.wav": ("wav", "pcm_mulaw", 8_000),
    "t.flac": ("flac", "flac", 16_000),
    "opus.ogg": ("ogg", "libopus", 48_000),
    "t.mp3": ("mp3", "libmp3lame", 24_000),
    "t.m4a": ("ipod", "aac", 44_100),
    "t.webm": ("webm", "libopus", 48_000),
    "t.mkv": ("matroska", "flac", 16_000),
}
LIVE = {  # as browsers' recorders write: a pipe, no seeking back to fill in lengths
    "live.webm": ("webm", "libopus", 48_000, {"live": "1"}),
    "live.ogg": ("ogg", "libopus", 48_000, {"page_duration": "100000"}),
    "live.wav": ("wav", "pcm_s16le", 48_000, {}),
    "live.mp4": ("mp4", "aac", 48_000, {"movflags": "frag_keyframe+empty_moov+default_base_moof"}),
}


class Pipe:
    """A writable file without seek."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")

    def write(self, data: bytes) -> int:
        return self.file.write(data)


def record(
    target: Path | Pipe,
    form: str,
    codec: str,
    rate: int,
    options: dict[str, str] | None = None,
    *,
    seconds: float = SECONDS,
    silent: bool = False,
) -> None:
    """Encode a gliding tone (or silence), mono, second by second, so that hours fit into memory."""
    file = str(target) if isinstance(target, Path) else target
    with av.open(file, "w", format=form, options=options or {}) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        total = round(seconds * rate)
        for at in range(0, total, rate):
            t = np.arange(at, min(at + rate, total)) / rate
            wave = np.zeros_like(t) if silent else 8000 * np.sin(2 * np.pi * (300 + 100 * t) * t)
            frame = av.AudioFrame.from_ndarray(wave.astype(np.int16)[None], format="s16", layout="mono")
            frame.sample_rate, frame.pts = rate, at
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tones")
    for name, (form, codec, rate) in KINDS.items():
        record(folder / name, form, codec, rate)
    for name, (form, codec, rate, options) in LIVE.items():
        pipe = Pipe(folder / name)
        record(pipe, form, codec, rate, options)
        pipe.file.close()
    return folder


def hear(path: Path, limits: DecodeLimits | None = None) -> audio.Samples:
    """Decode as before transcription."""
    return read(path, limits or DecodeLimits())


@pytest.mark.parametrize("name", [*KINDS, *LIVE])
def test_whole_recordings_are_decoded(tones: Path, name: str) -> None:
    samples = hear(tones / name)
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert samples.size / RATE == pytest.approx(SECONDS, abs=0.1)
    assert 0.15 < float(np.abs(samples[RATE // 2 :]).max()) < 0.35  # 8000 of 32768


@pytest.mark.parametrize("kept", [0.6, 0.9])
@pytest.mark.parametrize("name", [name for name in (*KINDS, *LIVE) if name != "live.wav"])
def test_a_cut_off_upload_is_refused(tones: Path, tmp_path: Path, name: str, kept: float) -> None:
    whole = (tones / name).read_bytes()
    cut = tmp_path / "order"
    cut.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(AudioDamaged):
        hear(cut)


@pytest.mark.parametrize("container", list(AudioContainer))
def test_a_playlist_under_a_forced_demuxer_opens_nothing(tmp_path: Path, container: AudioContainer) -> None:
    secret = tmp_path / "secret.flac"
    record(secret, "flac", "flac", 16_000)
    file = tmp_path / "order.wav"
    file.write_text(f"ffconcat version 1.0\nfile {secret}\n")
    with pytest.raises(AudioDamaged):
        decode(file, container, DecodeLimits())


def test_exactly_the_limit_is_accepted(tones: Path) -> None:
    assert hear(tones / "pcm.wav", DecodeLimits(max_audio_s=SECONDS + 0.01)).size
    with pytest.raises(AudioTooLong):
        hear(tones / "pcm.wav", DecodeLimits(max_audio_s=SECONDS - 0.1))


def test_too_many_bytes_are_not_even_opened(tones: Path) -> None:
    with pytest.raises(AudioTooLarge):
        hear(tones / "pcm.wav", DecodeLimits(max_bytes=1000))


def wav_header(*, rate: int, channels: int, bits: int, size: int, tag: int = 1) -> bytes:
    align = channels * bits // 8 & 0xFFFF
    numbers = [tag.to_bytes(2, "little"), channels.to_bytes(2, "little"), rate.to_bytes(4, "little")]
    numbers += [(rate * align & 0xFFFFFFFF).to_bytes(4, "little"), align.to_bytes(2, "little")]
    fmt = b"fmt \x10\0\0\0" + b"".join(numbers) + bits.to_bytes(2, "little")
    return b"RIFF\xff\xff\xff\xffWAVE" + fmt + b"data" + size.to_bytes(4, "little")


HOSTILE: dict[str, Callable[[], bytes]] = {
    "huge declared data": lambda: wav_header(rate=16_000, channels=1, bits=16, size=0x7FFE0000) + bytes(2000),
    "65535 channels": lambda: wav_header(rate=16_000, channels=65_535, bits=16, size=0) + bytes(200_000),
    "4 GHz": lambda: wav_header(rate=0xFFFFFFFF, channels=1, bits=16, size=0) + bytes(2000),
    "no samples": lambda: wav_header(rate=16_000, channels=1, bits=16, size=0),
    "rate 0": lambda: wav_header(rate=0, channels=1, bits=16, size=0) + bytes(2000),
    "huge Matroska element": lambda: (
        b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm\x18\x53\x80\x67\x01" + b"\xfe" * 9000
    ),
    "endless MP4 box": lambda: b"\0\0\0\x10ftypM4A \0\0\0\0\0\0\0\x01moov\x7f" + b"\xff" * 9000,
    "Ogg of nothing": lambda: b"OggS\0\x02" + bytes(20) + b"\x01\x13OpusHead\x01\xff" + bytes(9),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_harmless(tmp_path: Path, name: str) -> None:
    file = tmp_path / "order"
    file.write_bytes(HOSTILE[name]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((AudioDamaged, UnsupportedAudio)):
        hear(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def test_a_codec_that_no_recorder_uses_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "order.wav"
    record(file, "wav", "adpcm_g726", 8_000)
    with pytest.raises(SaycartError) as refusal:
        hear(file)
    assert refusal.value.code in ("unsupported_audio", "audio_damaged")


def test_invalid_float_samples_are_clipped(tmp_path: Path) -> None:
    wild = np.tile(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.5], np.float32), 1000)
    file = tmp_path / "order.wav"
    file.write_bytes(wav_header(rate=RATE, channels=1, bits=32, size=wild.nbytes, tag=3) + wild.tobytes())
    samples = hear(file)
    assert np.isfinite(samples).all()
    assert float(np.abs(samples).max()) <= 1.0


def test_memory_is_limited(tones: Path) -> None:
    """Too little even for the libraries: the child fails, and the order may be retried."""
    with pytest.raises((AudioTooCostly, AudioDamaged, EngineUnavailable)):
        hear(tones / "pcm.wav", DecodeLimits(memory_bytes=40_000_000))


def test_a_failed_early_start_fails_no_recording(tones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    popen, started = subprocess.Popen, list[object]()

    def one_alone(*command: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(command)
        if len(started) > 1:
            raise OSError(errno.EAGAIN, "no more processes")
        return popen(*command, **options)

    monkeypatch.setattr(audio._Child, "_ahead", None)
    monkeypatch.setattr(audio.subprocess, "Popen", one_alone)
    assert read(tones / "t.flac", DecodeLimits()).size
    assert (len(started), audio._Child._ahead) == (2, None)


def test_a_slow_machine_is_an_outage(tones: Path, child_that: Callable[[str], None]) -> None:
    child_that("import time; time.sleep(60)")
    began = time.monotonic()
    with pytest.raises(EngineUnavailable, match="took longer"):
        hear(tones / "pcm.wav", DecodeLimits(child_s=0.4))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("os.kill(os.getpid(), 11)", AudioDamaged),
        ("os.kill(os.getpid(), 6)", AudioDamaged),
        ("os.kill(os.getpid(), 24)", AudioTooCostly),  # SIGXCPU
        ("os.kill(os.getpid(), 9)", EngineUnavailable),
        ("raise SystemExit(1)", EngineUnavailable),
        ("[sys.stdout.buffer.write(bytes(1 << 20)) for _ in range(100)]", AudioTooLong),
    ],
)
def test_how_the_child_ends(
    tones: Path, child_that: Callable[[str], None], code: str, error: type[SaycartError]
) -> None:
    child_that(code)
    with pytest.raises(error):
        hear(tones / "pcm.wav")


@pytest.mark.parametrize(
    "test",
    ["'SAYCART_LLM_API_KEY' in os.environ", "'PATH' in os.environ", "os.getcwd() != '/'"],
)
def test_the_child_has_no_secrets(
    tones: Path, child_that: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, test: str
) -> None:
    monkeypatch.setenv("SAYCART_LLM_API_KEY", "secret")
    child_that(f"os._exit(9 if {test} else 12)")
    with pytest.raises(AudioDamaged):
        hear(tones / "pcm.wav")


def test_the_child_is_confined(tones: Path, child_that: Callable[[str], None]) -> None:
    """It has its own limits, and no way to its parent but stdout and its exit status."""
    tests = (
        "resource.getrlimit(resource.RLIMIT_AS) == (500_000_000, 500_000_000)",
        "resource.getrlimit(resource.RLIMIT_CPU) == (3, 4)",
        "resource.getrlimit(resource.RLIMIT_NOFILE) == (3, 3)",
        "resource.getrlimit(resource.RLIMIT_FSIZE) == (0, 0)",
        "resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
        "resource.getrusage(resource.RUSAGE_SELF).ru_utime < 0.5",
        "not any(stat.S_ISSOCK(os.fstat(n).st_mode) for n in range(2))",
        "closed(range(3, 256))",
    )
    for test in tests:
        child_that(
            "import errno, stat;"
            " closed = lambda numbers: all(not readable(n) for n in numbers);"
            " readable = lambda n: os.path.exists(f'/proc/self/fd/{n}');"
            f" os._exit(12 if {test} else 9)"
        )
        with pytest.raises(AudioDamaged, match="no audio"):
            hear(tones / "pcm.wav", DecodeLimits(memory_bytes=500_000_000, child_s=7))


def test_the_child_can_open_nothing(tmp_path: Path, child_that: Callable[[str], None]) -> None:
    """Without free descriptors even a compromised decoder can't open a file."""
    child_that('open("/etc/hostname")')
    file = tmp_path / "order.flac"
    record(file, "flac", "flac", 16_000)
    with pytest.raises(EngineUnavailable, match="status 1"):
        hear(file)
