"""A webhook receiver that survives being killed.

    python -m tests.servers.receiver --port PORT --secret SECRET --out FILE

It verifies the signature, drops repeats by id, and answers 204 only once the message is on disk: an answer
that came too early would lose the message in a crash.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import FileIO
from pathlib import Path
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

MAX_BODY_BYTES = 1_000_000
READ_S = 15.0


class Inbox:
    """Messages taken once each, as JSON lines in `file`, which holds those of earlier lives too."""

    def __init__(self, file: Path, on_message: Callable[[], object] = lambda: None) -> None:
        self._on_message = on_message
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        # Unbuffered: what could not be written must not wait in memory and turn up later.
        self._file = file.open("a+b", buffering=0)
        self._size = 0
        self._recall(self._file)

    def take(self, message_id: str, message: dict[str, Any]) -> None:
        """Keep a message, unless it is a repeat."""
        # One at a time, or two repeats at once would both be new.
        with self._lock:
            if message_id in self._seen:
                return
            kept = {"id": message_id, "received_at": time.time(), **message}
            self._append(self._file, json.dumps(kept).encode() + b"\n")
            self._seen.add(message_id)
            self._on_message()

    def close(self) -> None:
        self._file.close()

    def _append(self, file: FileIO, line: bytes) -> None:
        try:
            if file.write(line) != len(line):
                raise OSError("the disk is full")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(self._size)
            raise
        self._size += len(line)

    def _recall(self, file: FileIO) -> None:
        """Read the ids back. A last line that a crash cut off was never answered, so it is cut away."""
        file.seek(0)
        for line in file.readall().splitlines(keepends=True):
            if line.endswith(b"\n"):
                self._seen.add(json.loads(line)["id"])
                self._size += len(line)
        file.truncate(self._size)


class Receiver:
    """The inbox behind HTTP on loopback, in threads of its own; `port` 0 takes a free one."""

    def __init__(self, port: int, secret: str, inbox: Inbox) -> None:
        class Handler(_Handler):
            pass

        Handler.webhook, Handler.inbox = Webhook(secret), inbox
        self._inbox = inbox
        self._server = _Server(("127.0.0.1", port), Handler)
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


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that was killed hangs up in the middle, and comes again: no trace for that."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_S
    webhook: Webhook
    inbox: Inbox

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return self._answer(411)
        if int(length) > MAX_BODY_BYTES:
            return self._answer(413)
        body = self.rfile.read(int(length))
        try:
            message = self.webhook.verify(body, dict(self.headers))
        except WebhookVerificationError:
            return self._answer(401)
        try:
            self.inbox.take(self.headers["webhook-id"], message)
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
        """Log nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with Receiver(args.port, args.secret, Inbox(args.out)):
        over.wait()


if __name__ == "__main__":
    main()
