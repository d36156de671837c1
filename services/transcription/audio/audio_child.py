"""Decode one recording: the only place where FFmpeg meets a stranger's bytes.

    python -I audio_child.py <SOCKET >SAMPLES

Run by `audio.py`, once for each recording. stdin is a Unix socket, over which come "DEMUXER MAX_SECONDS
MEMORY_BYTES CPU_SECONDS" and with them the recording, an open, seekable file, which replaces it; stdout is a
pipe for raw float32 mono 16 kHz samples in native byte order; the exit status is one of those below. Run as a
file, not as a module, and with nothing but PyAV imported: there is nothing of ours in it to steal.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections.abc import Iterator
from typing import Any

RATE = 16_000
TOO_LONG, UNDECODABLE, NO_AUDIO, OTHER_CODEC, OUT_OF_MEMORY, TOO_MANY_FORMS, CUT_OFF = range(10, 17)

CODECS = (
    "aac,adpcm_ima_wav,adpcm_ms,alac,flac,mp3,mp3float,opus,libopus,vorbis,pcm_alaw,pcm_mulaw,pcm_f32be,"
    "pcm_f32le,pcm_f64le,pcm_s16be,pcm_s16le,pcm_s24be,pcm_s24le,pcm_s32be,pcm_s32le,pcm_s8,pcm_u8"
)
"""Decoders that may run; a WAV or MP4 can name hundreds of others, which no recorder of speech uses."""

BAD_PACKETS = 1
"""Undecodable packets that are let pass: some writers leave one broken packet at an end."""

FORMS = 20
"""Changes of rate, layout or sample format that are followed: a chained recording has one a link. Each costs
a new filter, some hundred times what decoding a small frame does."""

MISSING_S, MISSING_MATROSKA_S = 0.1, 0.5
"""Seconds of the declared length that may be missing. Recorders in browsers may declare a clock's time."""


class ChildRefused(Exception):
    """The file is refused; carries the exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def confine(memory_bytes: int, cpu_seconds: int) -> None:
    """Limits that nothing below can lift. The memory limit covers the libraries, under 150 MB, too."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # From here on no file and no socket can be opened, whatever a container asks for.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def frames_of(av: Any, demuxer: str) -> Iterator[Any]:
    """Frames of the first audio stream on stdin; `ChildRefused` as `stream_of`, or where the recording is cut
    off."""
    options = {"protocol_whitelist": "none", "codec_whitelist": CODECS}
    source = os.fdopen(0, "rb", closefd=False)
    with av.open(
        source, mode="r", format=demuxer, container_options=options, metadata_errors="ignore"
    ) as box:
        stream, bad, end_s = stream_of(box), 0, 0.0
        for packet in box.demux():
            end_s = max(end_s, end_of(packet))
            if packet.stream is not stream:
                continue
            if packet.is_corrupt and demuxer == "mp4":  # of a streamed WAV the last packet always is
                raise ChildRefused(CUT_OFF)
            try:
                yield from packet.decode()
            except av.error.InvalidDataError:
                bad += 1
                if bad > BAD_PACKETS:
                    raise ChildRefused(UNDECODABLE) from None
        if end_s < declared_s(box, stream, demuxer) or ended_early(av):
            raise ChildRefused(CUT_OFF)


def stream_of(box: Any) -> Any:
    """The first audio stream; `ChildRefused` where there is none that may be decoded."""
    if not box.streams.audio:
        raise ChildRefused(NO_AUDIO)
    stream = box.streams.audio[0]
    if stream.codec_context is None or stream.codec_context.name not in CODECS.split(","):
        raise ChildRefused(OTHER_CODEC)
    stream.codec_context.thread_count = 1
    return stream


def end_of(packet: Any) -> float:
    """The end of a packet in seconds; 0 if it has no time."""
    return 0.0 if packet.pts is None else float((packet.pts + (packet.duration or 0)) * packet.time_base)


def declared_s(box: Any, stream: Any, demuxer: str) -> float:
    """Seconds that the header promises at least, less what may be missing; 0 if it promises nothing."""
    # FFmpeg guesses those of a WAV or Ogg by its end, of an MP3 without a frame count by the bit rate. A
    # count comes with the encoder's delay, the stream's start.
    if demuxer in ("wav", "ogg") or (demuxer == "mp3" and not stream.start_time):
        return 0.0
    declared = [float(stream.duration * stream.time_base)] if stream.duration else []
    declared += [box.duration / 1_000_000] if box.duration else []
    return min(declared, default=0.0) - (MISSING_MATROSKA_S if demuxer == "matroska" else MISSING_S)


def ended_early(av: Any) -> bool:
    """True if the demuxer met the end of the file inside of a part (Matroska); it only logs that."""
    _, error = av.logging.get_last_error()
    return error is not None and "ended prematurely" in error[2]


def resampled(av: Any, frames: Iterator[Any]) -> Iterator[bytes]:
    """The frames as float32 mono at `RATE`. A stream may change its form midway (chained Ogg)."""
    resampler: Any = None
    form, forms = None, 0
    for frame in frames:
        frame.pts = None  # times with holes would stall the filter; only the samples' order counts
        if form != (form := (frame.format.name, frame.layout.name, frame.sample_rate)):
            forms += 1
            if forms > FORMS:
                raise ChildRefused(TOO_MANY_FORMS)
            if resampler is not None:
                yield from map(samples_in, resampler.resample(None))
            resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        yield from map(samples_in, resampler.resample(frame))
    if resampler is not None:
        yield from map(samples_in, resampler.resample(None))


def samples_in(frame: Any) -> bytes:
    """The samples alone: a plane's buffer is longer, for alignment."""
    return bytes(frame.planes[0])[: frame.samples * 4]


def load() -> Any:
    """FFmpeg, with all that PyAV imports late: a child can open no file any more."""
    import av
    import av.subtitles.codeccontext
    import av.subtitles.stream

    av.logging.set_level(av.logging.ERROR)  # see `ended_early`; stderr is closed
    return av


def received() -> list[str]:
    """The recording comes as stdin; returns what came with it, nothing where the other side has ended."""
    with socket.socket(fileno=0) as line:
        message, files, *_ = socket.recv_fds(line, 200, 1)
        for file in files:
            os.dup2(file, 0)
            os.close(file)
        if files:
            line.detach()
    return message.decode().split()


def decode(av: Any, demuxer: str, max_seconds: str, memory_bytes: str, cpu_seconds: str) -> int:
    """Decode stdin to stdout; the exit status."""
    confine(int(memory_bytes), int(cpu_seconds))
    room = int(float(max_seconds) * RATE) * 4
    try:
        for samples in resampled(av, frames_of(av, demuxer)):
            room -= len(samples)
            if room < 0:
                return TOO_LONG
            sys.stdout.buffer.write(samples)
        sys.stdout.buffer.flush()
    except ChildRefused as verdict:
        return verdict.status
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception:
        # Whatever PyAV makes of a malformed file (EOFError, ValueError, ...): the file's fault.
        return UNDECODABLE
    return 0


if __name__ == "__main__":
    status = 1
    try:
        ffmpeg = load()
        if asked := received():
            status = decode(ffmpeg, *asked)
    finally:
        os._exit(status)  # tearing the libraries down takes longer than the decoding, and may crash
