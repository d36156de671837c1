"""Decode one recording: the only place where FFmpeg parses untrusted bytes.

    python -I audio_child.py <SOCKET >SAMPLES

`audio.py` runs it once per recording. stdin is a Unix socket that delivers "DEMUXER MAX_SECONDS MEMORY_BYTES
CPU_SECONDS" and the recording as an open, seekable file, which then replaces stdin. stdout receives raw
float32 mono 16 kHz samples in native byte order; exit statuses are listed below. It runs as a file and
imports only PyAV, so that an exploit finds nothing else in the process.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections.abc import Iterator
from typing import Any

RATE = 16_000
TOO_LONG, UNDECODABLE, NO_AUDIO, OTHER_CODEC, OUT_OF_MEMORY, TOO_MANY_FORMATS, CUT_OFF = range(10, 17)

CODECS = (
    "aac,adpcm_ima_wav,adpcm_ms,alac,flac,mp3,mp3float,opus,libopus,vorbis,pcm_alaw,pcm_mulaw,pcm_f32be,"
    "pcm_f32le,pcm_f64le,pcm_s16be,pcm_s16le,pcm_s24be,pcm_s24le,pcm_s32be,pcm_s32le,pcm_s8,pcm_u8"
)
"""Allowed decoders; a WAV or MP4 can name hundreds of others, which no speech recorder uses."""

BAD_PACKETS = 1
"""Undecodable packets that are tolerated: some encoders leave a broken one at an end."""

MAX_FORMATS = 20
"""Sample formats, layouts and rates in one recording: a chained one may change at each link. Each change
needs a new filter, which costs as much as decoding about a hundred small frames."""

MISSING_S, MISSING_MATROSKA_S = 0.1, 0.5
"""Seconds of the declared length that may be missing: browsers may declare wall-clock time."""


class ChildRefused(Exception):
    """The recording is rejected, with this exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def confine(memory_bytes: int, cpu_seconds: int) -> None:
    """Set hard limits. The memory limit includes the libraries (under 150 MB)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # No more files or sockets can be opened, whatever a container refers to.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def frames_of(av: Any, demuxer: str) -> Iterator[Any]:
    """Yield the frames of the first audio stream on stdin; raises ChildRefused as `stream_of`, or if the
    recording is cut off."""
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
            if packet.is_corrupt and demuxer == "mp4":  # a streamed WAV's last packet always is
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
    """Return the first audio stream; raises ChildRefused if there is none with an allowed codec."""
    if not box.streams.audio:
        raise ChildRefused(NO_AUDIO)
    stream = box.streams.audio[0]
    if stream.codec_context is None or stream.codec_context.name not in CODECS.split(","):
        raise ChildRefused(OTHER_CODEC)
    stream.codec_context.thread_count = 1
    return stream


def end_of(packet: Any) -> float:
    """Return the end time of a packet in seconds; 0 if it has none."""
    return 0.0 if packet.pts is None else float((packet.pts + (packet.duration or 0)) * packet.time_base)


def declared_s(box: Any, stream: Any, demuxer: str) -> float:
    """Return the least duration in the header, minus what may be missing; 0 if the header has none."""
    # FFmpeg estimates it from the end of a WAV or Ogg, and from the bit rate of an MP3 without a frame count.
    # An MP3 with a count has the encoder's delay as its start time.
    if demuxer in ("wav", "ogg") or (demuxer == "mp3" and not stream.start_time):
        return 0.0
    declared = [float(stream.duration * stream.time_base)] if stream.duration else []
    declared += [box.duration / 1_000_000] if box.duration else []
    return min(declared, default=0.0) - (MISSING_MATROSKA_S if demuxer == "matroska" else MISSING_S)


def ended_early(av: Any) -> bool:
    """Return True if a Matroska file ends within an element, which the demuxer only logs."""
    _, error = av.logging.get_last_error()
    return error is not None and "ended prematurely" in error[2]


def resampled(av: Any, frames: Iterator[Any]) -> Iterator[bytes]:
    """Yield the samples as float32 mono at `RATE`. A stream may change its format (chained Ogg)."""
    resampler: Any = None
    current, formats = None, 0
    for frame in frames:
        frame.pts = None  # gaps in the times would stall the filter, and only the order counts
        if current != (current := (frame.format.name, frame.layout.name, frame.sample_rate)):
            formats += 1
            if formats > MAX_FORMATS:
                raise ChildRefused(TOO_MANY_FORMATS)
            if resampler is not None:
                yield from map(samples_in, resampler.resample(None))
            resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        yield from map(samples_in, resampler.resample(frame))
    if resampler is not None:
        yield from map(samples_in, resampler.resample(None))


def samples_in(frame: Any) -> bytes:
    """Return the samples without the padding of the plane's buffer."""
    return bytes(frame.planes[0])[: frame.samples * 4]


def load() -> Any:
    """Import FFmpeg, and what PyAV imports lazily: after `confine` no file can be opened."""
    import av
    import av.subtitles.codeccontext
    import av.subtitles.stream

    av.logging.set_level(av.logging.ERROR)  # see `ended_early`; stderr is closed
    return av


def received() -> list[str]:
    """Receive the recording as stdin, and return its arguments; empty if the parent has ended."""
    with socket.socket(fileno=0) as line:
        message, files, *_ = socket.recv_fds(line, 200, 1)
        for file in files:
            os.dup2(file, 0)
            os.close(file)
        if files:
            line.detach()
    return message.decode().split()


def decode(av: Any, demuxer: str, max_seconds: str, memory_bytes: str, cpu_seconds: str) -> int:
    """Decode stdin to stdout; return the exit status."""
    confine(int(memory_bytes), int(cpu_seconds))
    remaining = int(float(max_seconds) * RATE) * 4
    try:
        for samples in resampled(av, frames_of(av, demuxer)):
            remaining -= len(samples)
            if remaining < 0:
                return TOO_LONG
            sys.stdout.buffer.write(samples)
        sys.stdout.buffer.flush()
    except ChildRefused as refused:
        return refused.status
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception:
        # PyAV raises EOFError, ValueError and others for malformed files.
        return UNDECODABLE
    return 0


if __name__ == "__main__":
    status = 1
    try:
        ffmpeg = load()
        if arguments := received():
            status = decode(ffmpeg, *arguments)
    finally:
        os._exit(status)  # unloading the libraries takes longer than decoding, and may crash
