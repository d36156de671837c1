"""The embedded engine, one process with one copy of the weights: the learned reader, and any masked call.

    python -m services.decoding.server --model FILE --port N [--adapter FILE] [--host H]
        [--name NAME] [--threads T] [--context C] [--states FOLDER] [--states-bytes B]

It checks a guess at the cart in one pass where llama.cpp's server would write one, and keeps what it made of
a menu over a restart. Paths as llama.cpp's: `/health`,
`/v1/models`, `/lora-adapters`, `/metrics`, `/tokenize`, `/v1/chat/completions`. Where `LLAMA_API_KEY` is set,
the last four want that key, since other users of the machine reach loopback too; the environment holds it,
since `ps` shows a command line to all. A grammar that does not compile is refused: no answer leaves without
its mask. On loopback by default: in a container `--host 0.0.0.0`, which only the parts that ask can reach.

One answer is made at a time; what waits is answered in the order in which threads get at it. A
client that closes its connection is noticed between two batches of 128 tokens.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import select
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import structlog

from infra.processes.signals import StopSignal
from infra.weights.adapters import as_gguf
from schemas.errors import DecodeCancelled, DecodeInvalid, EngineMisconfigured, InputError, SaycartError
from services.decoding.hosts.variables import KEY_ENV, OPENMP_ENV

log = structlog.get_logger()

LARGEST_BYTES = 4_000_000
"""Of a request: the largest menu and its grammar take less than one."""
MOST_CONNECTIONS = 64
"""Connections at once, each with a thread of its own; more are closed unread."""
SILENT_S = 20.0
"""Seconds that a client may send nothing, or take nothing, before its connection is closed."""

METRICS = """\
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing {processing}
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred {deferred}
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total {written}
"""
"""By the names of llama.cpp's server."""


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT. Exit codes: 0 stopped, 2 wrong use, 3 could not load, or the port is taken."""
    args = _parser().parse_args(argv)
    for key, value in OPENMP_ENV.items():  # read when the library loads
        os.environ.setdefault(key, value)
    from services.decoding.server.service import Reader

    try:
        reader = Reader(
            args.model,
            as_gguf(args.adapter, args.model.parent) if args.adapter else None,
            name=args.name or args.model.name,
            context=args.context,
            threads=args.threads,
            folder=args.states,
            disk_bytes=args.states_bytes,
        )
        server = Server((args.host, args.port), reader, os.environ.get(KEY_ENV, ""))
    except (SaycartError, OSError) as error:
        reason = f"{error} {error.hint}" if isinstance(error, SaycartError) else str(error)
        print(f"The embedded engine did not start: {reason}", flush=True)
        return 3
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stop = StopSignal()
    print(f"{reader.name} serves at http://{args.host}:{server.server_port}", flush=True)
    stop.wait()
    # Not in order: an answer in the middle of a batch can't be stopped, and its client asks again.
    sys.stdout.flush()
    os._exit(0)


class Server(ThreadingHTTPServer):
    """`reader` answers; with a `key`, who shows it alone."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], reader: Any, key: str) -> None:
        self.reader, self.key = reader, key
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that went away is none of ours, and other faults were answered and logged."""


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open for the next request."""

    protocol_version = "HTTP/1.1"
    # Head and body go out together: the body would wait 40 ms for the head to be acknowledged.
    wbufsize = 2**16
    timeout = SILENT_S
    server: Server

    def do_GET(self) -> None:
        reader = self.server.reader
        if self.path == "/health":
            self._say(HTTPStatus.OK, {"status": "ok"})
        elif self.path == "/v1/models":
            self._say(HTTPStatus.OK, {"object": "list", "data": [{"id": reader.name, "object": "model"}]})
        elif self.path not in ("/lora-adapters", "/metrics"):
            self._fail(HTTPStatus.NOT_FOUND, f"There is no {self.path}")
        elif not self._may():
            return
        elif self.path == "/metrics":
            held = reader.in_hand
            counts = {"processing": min(1, held), "deferred": max(0, held - 1), "written": reader.written}
            self._send(HTTPStatus.OK, METRICS.format(**counts).encode(), "text/plain; version=0.0.4")
        else:
            had = [{"id": 0, "path": reader.adapter, "scale": 1.0}] if reader.adapter else []
            self._say(HTTPStatus.OK, had)

    def do_POST(self) -> None:
        # The key first: who has none may not have megabytes read.
        if not self._may() or (body := self._body()) is None:
            return
        if self.path not in ("/v1/chat/completions", "/tokenize"):
            self._fail(HTTPStatus.NOT_FOUND, f"There is no {self.path}")
            return
        try:
            asked = _document(body)
            if self.path == "/tokenize":  # while an answer is made: a text too long is not to wait its turn
                self._say(HTTPStatus.OK, {"tokens": self.server.reader.tokenize(_text(asked))})
            else:
                self._say(HTTPStatus.OK, self.server.reader.complete(asked, self._gone))
        except DecodeCancelled:
            self.close_connection = True
        except (InputError, DecodeInvalid, EngineMisconfigured) as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            log.exception("reader.failed")
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: an order's request is a line of the worker's log already."""

    def _body(self) -> bytes | None:
        size = self.headers.get("content-length", "")
        if not size.isdigit() or int(size) > LARGEST_BYTES:
            self.close_connection = True
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request is {LARGEST_BYTES} bytes at most")
            return None
        return self.rfile.read(int(size))

    def _may(self) -> bool:
        key = self.server.key
        shown = self.headers.get("authorization", "").removeprefix("Bearer ")
        if not key or hmac.compare_digest(shown.encode(), key.encode()):
            return True
        self.close_connection = True  # its body was not read
        self._fail(HTTPStatus.UNAUTHORIZED, "The key is missing or wrong")
        return False

    def _gone(self) -> bool:
        """Whether the client closed its connection: it then has an end to read, and nothing before it."""
        look = select.poll()
        look.register(self.connection, select.POLLIN)
        if not look.poll(0):
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _fail(self, status: HTTPStatus, message: str) -> None:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self._say(status, {"error": {"code": int(status), "type": kind, "message": message[:500]}})

    def _say(self, status: HTTPStatus, document: Any) -> None:
        self._send(status, json.dumps(document).encode(), "application/json")

    def _send(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if self.close_connection:  # or a client would send its next request into it
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)


def _document(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise InputError(f"The request is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError("A request is a JSON object")
    return found


def _text(asked: dict[str, Any]) -> str:
    content = asked.get("content")
    if not isinstance(content, str):
        raise InputError("content is a text")
    return content


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.decoding.server")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="LoRA of the reader, a GGUF or a folder")
    parser.add_argument("--name", default="")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=12_288, help="tokens of the longest prompt and answer")
    parser.add_argument("--states", type=Path, help="folder in which menus that were read are kept")
    parser.add_argument("--states-bytes", type=int, default=0, help="the most that they take there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
