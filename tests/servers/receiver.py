"""A webhook receiver that survives being killed.

    python -m tests.servers.receiver --port PORT --secret SECRET --out FILE

It verifies signatures, drops duplicates by id, and answers 204 only after writing to disk: answering earlier
could lose the message in a crash.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.servers.loopback import Handler, serving

READ_S = 15.0


class Inbox:
    """Unique messages, as JSON lines in `file`, which survives restarts."""

    def __init__(self, file: Path, on_message: Callable[[], object] = lambda: None) -> None:
        self._on_message = on_message
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        # Unbuffered: a failed write must not appear later.
        self._file = file.open("a+b", buffering=0)
        self._size = 0
        self._recall(self._file)

    def take(self, message_id: str, message: dict[str, Any]) -> None:
        """Store a message unless it is a duplicate."""
        # One at a time, or two concurrent duplicates would both be new.
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
        """Read the stored ids. A line truncated by a crash was never answered, so it is removed."""
        file.seek(0)
        for line in file.readall().splitlines(keepends=True):
            if line.endswith(b"\n"):
                self._seen.add(json.loads(line)["id"])
                self._size += len(line)
        file.truncate(self._size)


@contextmanager
def receiving(port: int, secret: str, inbox: Inbox) -> Iterator[str]:
    """Serve the inbox on loopback during the block; yield its address. `port` 0 means a free one."""
    webhook = Webhook(secret)

    class Receiver(Handler):
        protocol_version = "HTTP/1.1"
        timeout = READ_S

        def do_POST(self) -> None:
            try:
                message = webhook.verify(self.body(), dict(self.headers))
                inbox.take(self.headers["webhook-id"], message)
            except WebhookVerificationError:
                self.answer(401)
            except OSError:
                self.answer(503)  # not stored: the sender will retry
            else:
                self.answer(204)

    with serving(Receiver, port) as url:
        yield f"{url}/"
    inbox.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with receiving(args.port, args.secret, Inbox(args.out)):
        signal.pause()


if __name__ == "__main__":
    main()
