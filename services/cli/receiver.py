"""A small receiver of our webhooks, for tests and the demo; also an example of what a receiver must do.

It verifies the signature, drops repeats by id, and answers 204 only once the message is on disk: a message
is repeated until it was, and an answer that came too early would lose it in a crash.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from infra.webhooks import Signer

MAX_BODY_BYTES = 1_000_000
READ_S = 15.0


class Inbox:
    """Messages taken once each; kept as JSON lines in `file`, ids of former lives included.

    Raises:
        OSError: the file can't be read or written.
    """

    def __init__(self, file: Path | None, on_message: Callable[[dict[str, Any]], None]) -> None:
        self._on_message = on_message
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._lines: BinaryIO | None = None
        if file is not None:
            self._lines = file.open("a+b")
            self._recall(self._lines)

    def take(self, message_id: str, message: dict[str, Any]) -> bool:
        """Keep a message; False when it is a repeat."""
        # One at a time, or two repeats at once would both be new.
        with self._lock:
            if message_id in self._seen:
                return False
            if self._lines is not None:
                line = {"id": message_id, "received_at": time.time(), **message}
                self._lines.write(json.dumps(line).encode() + b"\n")
                self._lines.flush()
                os.fsync(self._lines.fileno())
            self._seen.add(message_id)
            self._on_message(message)
            return True

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()

    def _recall(self, lines: BinaryIO) -> None:
        """Read the ids back. A last line that a crash cut off was never answered, so it is cut away."""
        lines.seek(0)
        whole = 0
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._seen.add(json.loads(line)["id"])
            whole += len(line)
        lines.truncate(whole)


class Receiver:
    """The inbox behind HTTP on loopback, in threads of its own; `port` 0 takes a free one."""

    def __init__(self, port: int, signer: Signer, inbox: Inbox) -> None:
        class Handler(_Handler):
            pass

        Handler.signer, Handler.inbox = signer, inbox
        self._inbox = inbox
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._inbox.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_S
    signer: Signer
    inbox: Inbox

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return self._answer(411)
        if int(length) > MAX_BODY_BYTES:
            return self._answer(413)
        body = self.rfile.read(int(length))
        try:
            message_id = self.signer.verify(dict(self.headers), body)
        except ValueError:
            return self._answer(401)
        try:
            self.inbox.take(message_id, json.loads(body))
        except OSError:
            # Not kept, so not taken: the sender comes again.
            return self._answer(503)
        return self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status != 204:
            # The body may be unread: what follows on this connection would be taken for the next request.
            self.send_header("content-length", "0")
            self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: a message is told once, by the inbox."""
