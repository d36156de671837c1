"""Bad input ends in a clear problem or a clear end state; nothing is left half done."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable, Iterator
from typing import Any

import av
import httpx
import numpy as np
import pytest

from services.workers.stack import Stack

pytestmark = [pytest.mark.models, pytest.mark.stack]
Settle = Callable[[str], dict[str, Any]]
MENU = {"menu": "harbor-coffee"}


def encoded(container: str, codec: str, seconds: float, *, level: float = 0.1) -> bytes:
    """A tone of `seconds` in `container`; level 0 is digital silence."""
    out = io.BytesIO()
    with av.open(out, "w", format=container) as target:
        stream = target.add_stream(codec, rate=16_000, layout="mono")
        block = 16_000
        tone = (np.sin(np.arange(block) * 0.1) * level * 32767).astype(np.int16)
        for second in range(int(seconds)):
            frame = av.AudioFrame.from_ndarray(tone.reshape(1, -1), format="s16", layout="mono")
            frame.sample_rate, frame.pts = 16_000, second * block
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    return out.getvalue()


def recordings(stack: Stack) -> int:
    return sum(1 for path in (stack.settings.home / "recordings").rglob("*") if path.is_file())


def total_orders(client: httpx.Client) -> int:
    count, cursor = 0, None
    while True:
        page = client.get("/v1/orders", params={"limit": 100} | ({"cursor": cursor} if cursor else {})).json()
        count, cursor = count + len(page["orders"]), page["next_cursor"]
        if cursor is None:
            return count


@pytest.mark.parametrize(
    ("name", "body", "status", "kind"),
    [
        ("empty.wav", b"", 422, "empty"),
        ("text.wav", b"this is not a recording at all, " * 20, 415, "unsupported_audio"),
        ("list.wav", b"ffconcat version 1.0\nfile '/etc/passwd'\n", 415, "unsupported_audio"),
        ("list.m3u8", b"#EXTM3U\n#EXTINF:10,\n/etc/passwd\n", 415, "unsupported_audio"),
    ],
)
def test_what_is_no_recording_is_refused_at_the_door(
    name: str, body: bytes, status: int, kind: str, stack: Stack, client: httpx.Client
) -> None:
    before = (recordings(stack), total_orders(client))
    answer = client.post("/v1/orders", files={"audio": (name, body)}, data=MENU)
    problem = answer.json()
    assert answer.status_code == status, problem
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert kind in problem["type"]
    assert problem["hint"]
    assert problem["request_id"]
    assert (recordings(stack), total_orders(client)) == before


def test_fifty_megabytes_are_refused_while_they_stream_in(stack: Stack, client: httpx.Client) -> None:
    def body() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
        yield b"RIFF\xff\xff\xff\xffWAVEfmt "
        for _ in range(50):
            yield bytes(1_000_000)
        yield b"\r\n--x--\r\n"

    before = recordings(stack)
    try:
        answer = client.post(
            "/v1/orders", content=body(), headers={"content-type": "multipart/form-data; boundary=x"}
        )
        assert answer.status_code == 413
        assert "audio_too_large" in answer.json()["type"]
    except (httpx.WriteError, httpx.RemoteProtocolError):
        pass  # the server may hang up on a client that goes on sending
    assert recordings(stack) == before


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"transcript": "a latte", ', "malformed_body"),
        (b'{"transcript": "a latte", "menu": "nowhere"}', "unknown_menu"),
    ],
)
def test_broken_json_and_unknown_menus_are_refused(content: bytes, kind: str, client: httpx.Client) -> None:
    answer = client.post("/v1/orders", content=content, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["type"].endswith(kind)
    assert answer.json()["hint"]


def test_recordings_that_show_their_fault_later_end_in_a_named_error(
    client: httpx.Client, settle: Settle
) -> None:
    mp3 = encoded("mp3", "libmp3lame", 8)
    whole = io.BytesIO()
    with wave.open(whole, "wb") as target:
        target.setnchannels(1)
        target.setsampwidth(2)
        target.setframerate(16_000)
        target.writeframes(bytes(16_000 * 2 * 4))
    cases = {
        "audio_damaged": [mp3[: len(mp3) * 6 // 10], whole.getvalue()[:60_000]],
        "audio_too_long": [encoded("flac", "flac", 7200, level=0.0)],
    }
    for code, bodies in cases.items():
        for body in bodies:
            answer = client.post("/v1/orders", files={"audio": body}, data=MENU)
            assert answer.status_code == 202, answer.text
            order = settle(answer.json()["id"])
            assert order["status"] == "error"
            assert order["error"]["code"] == code
            assert order["error"]["hint"]


def test_silence_is_no_order(client: httpx.Client, settle: Settle) -> None:
    answer = client.post("/v1/orders", files={"audio": encoded("flac", "flac", 5, level=0.0)}, data=MENU)
    order = settle(answer.json()["id"])
    assert order["status"] == "needs_review"
    assert order["review"]["reasons"] == ["nothing_heard"]
    assert order["transcript"]["confidence"] == 0
    assert order["cart"] is None
