"""Clients that wait, a thousand in one process: plain HTTP/1.1 over asyncio's streams, on loopback only.

A client library would cost more than the server that is measured, on the same two cores.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

Told = Callable[[str, float], None]
"""Called with an order's id and the clock's time when its client had the whole answer."""


class Connection:
    """One kept connection; requests one after the other."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, path: str, body: bytes = b"") -> asyncio.StreamReader:
        """Send one request; what its answer comes from."""
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: {self._key}\r\n"
        )
        kind = "Content-Type: application/json\r\n" if body else ""
        self._writer.write(f"{head}{kind}\r\n".encode() + body)
        await self._writer.drain()
        return self._reader

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """Status and document of one answer."""
        reader = await self.send(method, path, body)
        status, length = await head(reader)
        return status, json.loads(await reader.readexactly(length))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


async def head(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Status and Content-Length of an answer, 0 where it has none."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    lengths = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")]
    return int(lines[0].split()[1]), lengths[0] if lengths else 0


async def poll(port: int, key: str, order_id: str, first_s: float, wait_s: float, told: Told) -> None:
    """Long polls, one after the other, until the order has ended; the first is of another length, so that
    not all clients ask at once."""
    connection, this_s = Connection(port, key), first_s
    try:
        while True:
            status, order = await connection.ask("GET", f"/v1/orders/{order_id}?wait={this_s:.3f}")
            this_s = wait_s
            if status != 200:
                raise RuntimeError(f"{order_id}: {status} {order}")
            if order["status"] == "error":
                told(order_id, time.monotonic())
                return
    finally:
        connection.close()


async def follow(port: int, key: str, order_id: str, told: Told) -> None:
    """The order's event stream, to its end."""
    connection = Connection(port, key)
    try:
        reader = await connection.send("GET", f"/v1/orders/{order_id}/events")
        await head(reader)
        while line := await reader.readline():
            if line.startswith(b"event: broke"):
                told(order_id, time.monotonic())
                return
        raise RuntimeError(f"{order_id}: the stream was cut")
    finally:
        connection.close()
