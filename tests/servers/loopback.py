"""An HTTP server on loopback for as long as a block runs: what stands in for others is a handler."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Reads a body, answers one, and writes no line to the console."""

    def body(self) -> bytes:
        """The request's, whose length it names."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        """All of an answer. An underscore in a header's name stands for its hyphen."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    # Of connections that are not taken yet: past the default of 5 some wait a second for their next try.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what many tests are about; any other error is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], port: int = 0) -> Iterator[str]:
    """Its address, `http://127.0.0.1:PORT`, by default a free one; a thread for each request."""
    with _Server(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
