"""Invalid uploads are refused as early as possible, and nothing is stored."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration import api_world
from tests.integration.api.gate.test_api_pressure import begun
from tests.integration.api_world import MENU, World, expect_problem, wav
from tests.waiting import until

world = api_world.world


@pytest.fixture(autouse=True)
def nothing_kept(world: World) -> Iterator[None]:
    """Check that refusals leave no order and no file."""
    orders, files = sum(world.parts.orders.counts().values()), set(world.recordings)
    yield
    until(lambda: set(world.recordings) == files)
    assert sum(world.parts.orders.counts().values()) == orders


def post(world: World, content: bytes, **fields: str) -> Any:
    return world.http.post("/v1/orders", files={"audio": ("order.wav", content, "audio/wav")}, data=fields)


def raw(world: World, body: bytes, content_type: str = "multipart/form-data; boundary=B") -> Any:
    return world.http.post("/v1/orders", content=body, headers={"Content-Type": content_type})


def part(name: str, value: bytes) -> bytes:
    named = '; filename="a"' if name == "audio" else ""
    return f'--B\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + value + b"\r\n"


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 422, "audio_empty"),
        (b"this is no recording, whatever its name says\n" * 200, 415, "unsupported_audio"),
        (b"x", 415, "unsupported_audio"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", 415, "unsupported_audio"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:10\nhttp://localhost/a.ts\n", 415, "unsupported_audio"),
        (b"RIFF\x24\0\0\0AVI LIST" + b"\0" * 100, 415, "unsupported_audio"),
        (b"%PDF-1.7" + b"\0" * 10_000, 415, "unsupported_audio"),
        (wav() + b"\0" * 1_100_000, 413, "audio_too_large"),  # by its declared length
    ],
)
def test_invalid_recordings_are_rejected(world: World, content: bytes, status: int, code: str) -> None:
    expect_problem(post(world, content), status, code)


def test_a_large_chunked_body_is_refused_early(world: World) -> None:
    head = (
        b"POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: multipart/form-data; boundary=B\r\n" + world.line() + b"\r\n"
    )
    first = part("audio", wav())[:-2]
    zeros = b"\0" * 65_536
    with socket.create_connection(("127.0.0.1", world.port)) as line:
        line.sendall(head + f"{len(first):x}\r\n".encode() + first + b"\r\n")
        sent = 0
        while sent < 50_000_000 and not select.select([line], [], [], 0)[0]:
            line.sendall(f"{len(zeros):x}\r\n".encode() + zeros + b"\r\n")
            sent += len(zeros)
            time.sleep(0.01)  # a busy machine needs a moment to answer
        answer = line.recv(65_536)
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b"/problems/audio_too_large" in answer
    assert sent < 10_000_000


@pytest.mark.parametrize(
    ("fields", "code", "pointer"),
    [
        ({"menu": "nowhere"}, "unknown_menu", "/menu"),
        ({"menu": MENU["id"], "language": "de"}, "invalid_input", "/language"),
        ({"menu": "x" * 300}, "invalid_input", "/menu"),
        ({"price": "0"}, "invalid_input", "/price"),
        *(
            ({"metadata": text}, "invalid_input", "/metadata")
            for text in (
                *("{", "[1]", "null", '{"a": NaN}', '{"a": 1e999}', r'{"a": "\u0000"}', r'{"a": "\ud800"}'),
                *("x" * 9_000, '{"a":' + "[" * 3900 + "]" * 3900 + "}"),
            )
        ),
    ],
)
def test_invalid_fields_are_named(world: World, fields: dict[str, str], code: str, pointer: str) -> None:
    found = expect_problem(post(world, wav(), **fields), 422, code)
    assert found["errors"][0]["pointer"].startswith(pointer)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (part("menu", b"corner-cafe") + b"--B--\r\n", "is missing"),
        (b"", "is missing"),
        (part("audio", wav())[:-2], "is missing"),  # cut off before its boundary
        (part("audio", wav()) + part("audio", wav()) + b"--B--\r\n", "given twice"),
        (
            part("audio", wav()).replace(b'; filename="a"', b"") + b"--B--\r\n",
            "must be a file, with a file name",
        ),
    ],
)
def test_exactly_one_recording_is_required(world: World, body: bytes, detail: str) -> None:
    found = expect_problem(raw(world, body), 422, "invalid_input")
    assert found["errors"] == [{"pointer": "/audio", "detail": detail}]


FORM, JSON = "multipart/form-data; boundary=B", "application/json"
UNREADABLE: dict[tuple[int, str], list[tuple[str, bytes]]] = {
    (400, "malformed_body"): [
        (FORM, b"no multipart at all"),
        (FORM, b"--B\r\nContent-Type: audio/wav\r\n\r\nx\r\n--B--\r\n"),
        (FORM, b"--B\r\nContent-Disposition form-data\r\n\r\nx\r\n--B--\r\n"),
        (FORM, b"--B\r\n" + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\nx\r\n--B--\r\n"),
        ("multipart/form-data", b"--x--"),
        (f"multipart/form-data; boundary={'x' * 300}", b"--x--"),
        *((JSON, body) for body in (b"", b"{", b"\xff\xfe\xfa", b"[" * 10_000)),
        (JSON, b'{"transcript": NaN}'),
    ],
    (413, "body_too_large"): [(JSON, b'"' + b"x" * 1_000_001 + b'"')],
    (415, "unsupported_media_type"): [
        (kind, b"x") for kind in ("", "text/plain", "audio/wav", "application/x-www-form-urlencoded")
    ],
}


@pytest.mark.parametrize(("status", "code"), UNREADABLE)
def test_malformed_bodies_are_rejected(world: World, status: int, code: str) -> None:
    for content_type, body in UNREADABLE[status, code]:
        expect_problem(raw(world, body, content_type), status, code)


def test_an_aborted_upload_leaves_nothing(world: World) -> None:
    before = set(world.recordings)
    with begun(world) as line:
        line.sendall(part("audio", wav())[:-2] + b"\0" * 300_000)
        until(lambda: set(world.recordings) - before)
