"""Write recordings with PyAV, in the container of their file name. The product's own code reads them."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream

from tests.golden.noise import Audio

RATE = 16_000
OPUS_BITS_PER_S = 32_000

# Suffix -> container, codec and sample format.
FORMS = {
    ".flac": ("flac", "flac", "s16"),
    ".wav": ("wav", "pcm_s16le", "s16"),
    ".opus": ("ogg", "libopus", "flt"),
    ".ogg": ("ogg", "libopus", "flt"),
}


def write(path: Path, audio: Audio) -> None:
    """Write mono audio at `RATE` with samples in -1..1, reproducibly. Raises ValueError for an unknown
    suffix."""
    if path.suffix.lower() not in FORMS:
        raise ValueError(f"{path.name}: only {', '.join(FORMS)} can be written; convert first.")
    container, codec, form = FORMS[path.suffix.lower()]
    # Without `bitexact` an Ogg stream gets a random serial number.
    with av.open(path, "w", format=container, container_options={"fflags": "+bitexact"}) as box:
        stream = box.add_stream(codec, rate=RATE, layout="mono")
        assert isinstance(stream, AudioStream)
        stream.format = form
        if codec == "libopus":
            stream.bit_rate = OPUS_BITS_PER_S
        samples = audio.astype(np.float32)
        if form == "s16":
            samples = np.clip(np.rint(samples * 32_768), -32_768, 32_767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format=form, layout="mono")
        frame.sample_rate = RATE
        # The encoder requires its own frame size.
        fifo = av.AudioFifo()
        fifo.write(frame)
        size = stream.codec_context.frame_size or 4096
        for piece in fifo.read_many(size, partial=True):
            box.mux(stream.encode(piece))
        box.mux(stream.encode(None))  # flushes
