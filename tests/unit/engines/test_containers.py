"""Containers are known by their first bytes, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import UnsupportedAudio
from services.transcription.audio.containers import HEAD_BYTES, AudioContainer, sniff, sniff_file

FRAME = bytes.fromhex("fffb9064") + bytes(413)  # MPEG-1 Layer III, 128 kbit/s, 44.1 kHz: 417 bytes
FRAME_24K = bytes.fromhex("fff384c4") + bytes(188)  # MPEG-2, 64 kbit/s, 24 kHz: 192 bytes


def ogg_page(packet: bytes) -> bytes:
    return b"OggS\0\x02" + bytes(20) + bytes([1, len(packet)]) + packet


def ebml(doctype: bytes) -> bytes:
    body = b"\x42\x86\x81\x01" + b"\x42\x82" + bytes([0x80 | len(doctype)]) + doctype
    return b"\x1a\x45\xdf\xa3" + bytes([0x80 | len(body)]) + body + b"\x18\x53\x80\x67"


@pytest.mark.parametrize(
    ("head", "container"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt ", AudioContainer.WAV),
        (b"RF64\xff\xff\xff\xffWAVEds64", AudioContainer.WAV),
        (b"fLaC\0\0\0\x22", AudioContainer.FLAC),
        (b"fLaC\x80\0\0\x22", AudioContainer.FLAC),
        (ogg_page(b"OpusHead\x01\x01"), AudioContainer.OGG),
        (ogg_page(b"\x01vorbis\0\0\0\0"), AudioContainer.OGG),
        (FRAME * 2, AudioContainer.MP3),
        (FRAME_24K * 2, AudioContainer.MP3),
        (b"ID3\x04\0\0\0\0\0\x05" + bytes(5) + FRAME * 2, AudioContainer.MP3),
        (b"ID3\x03\0\0\0\x04\0\0" + bytes(HEAD_BYTES), AudioContainer.MP3),  # cover art longer than the head
        (b"\0\0\0\x20ftypM4A \0\0\0\0", AudioContainer.M4A),
        (b"\0\0\0\x1cftypiso5\0\0\0\0", AudioContainer.M4A),
        (ebml(b"webm"), AudioContainer.WEBM),
        (ebml(b"matroska"), AudioContainer.WEBM),
        (ebml(b"webm\0\0"), AudioContainer.WEBM),
    ],
)
def test_accepted(head: bytes, container: AudioContainer) -> None:
    assert sniff(head) is container


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"R",
        b"RIFF\x24\0\0\0AVI LIST",
        b"fLaC",
        b"OggS\0\x02",
        ogg_page(b"\x80theora"),
        ogg_page(b"Speex   1.2"),
        b"\xff\xfb\xf0\x64" * 100,  # a bit rate that there is not
        b"\xff\xf1\x50\x80" * 400,  # AAC in ADTS: Layer "0"
        b"\xff" * 100,
        b"ID3\x04\0\0\0\0\0\x05" + bytes(5) + b"#EXTM3U",
        b"\0\0\0\x20ftypavif\0\0\0\0",
        b"\0\0\0\x20ftypheic\0\0\0\0",
        ebml(b"other"),
        b"\x1a\x45\xdf\xa3",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"#EXTM3U\n#EXT-X-TARGETDURATION:10\nhttp://127.0.0.1/a.ts\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"two flat whites and a muffin, please" * 20,
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"PK\x03\x04" + bytes(100),
    ],
)
def test_refused(head: bytes) -> None:
    assert sniff(head) is None


def test_a_file_is_judged_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    file = tmp_path / "order.wav"
    file.write_bytes(FRAME * 3)
    assert sniff_file(file) is AudioContainer.MP3
    file.write_text("a large latte")
    with pytest.raises(UnsupportedAudio, match="accepted audio container"):
        sniff_file(file)
    file.write_bytes(b"")
    with pytest.raises(UnsupportedAudio, match="empty"):
        sniff_file(file)
