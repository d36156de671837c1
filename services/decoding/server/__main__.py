"""The embedded engine, one process with one copy of the weights: the learned reader, and any masked call.

    python -m services.decoding.server --model FILE --port N [--adapter FILE] [--host H]
        [--threads T] [--context C] [--states FOLDER]

It checks a guess at the cart in one pass where llama.cpp's server would write one, and keeps what it made of
the menus that were read last, with `--states` over a restart too. Its paths (`http.py`) are those of
llama.cpp's server. Where `LLAMA_API_KEY` is set, they want that key, since other users of the machine reach
loopback too; the environment holds it, since `ps` shows a command line to all. A grammar that does not
compile is refused: no answer leaves without its mask. On loopback by default: in a container
`--host 0.0.0.0`, which only the parts that ask can reach.

One answer is made at a time; what waits is answered in the order in which threads get at it. That a client
closed its connection is noticed ten times a second.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
from pathlib import Path

from infra.processes.signals import StopSignal
from infra.weights.adapters import prepared
from schemas.errors import SaycartError
from services.decoding.hosts.variables import KEY_ENV, OPENMP_ENV
from services.decoding.server.http import server


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT. Exit codes: 0 stopped, 2 wrong use, 3 could not load, or the port is taken."""
    args = _parser().parse_args(argv)
    for key, value in OPENMP_ENV.items():  # read when the library loads
        os.environ.setdefault(key, value)
    from services.decoding.server.service import Reader

    try:
        reader = Reader(
            args.model,
            prepared(args.adapter, args.model.parent) if args.adapter else None,
            context=args.context,
            threads=args.threads,
            folder=args.states,
        )
        listener = socket.create_server((args.host, args.port))
    except (SaycartError, OSError) as error:
        reason = f"{error} {error.hint}" if isinstance(error, SaycartError) else str(error)
        print(f"The embedded engine did not start: {reason}", flush=True)
        return 3
    serve = server(reader, os.environ.get(KEY_ENV, "")).run
    threading.Thread(target=serve, kwargs={"sockets": [listener]}, daemon=True).start()
    stop = StopSignal()
    print(f"{reader.name} serves at http://{args.host}:{listener.getsockname()[1]}", flush=True)
    stop.wait()
    # Not in order: an answer in the middle of a batch can't be stopped, and its client asks again.
    sys.stdout.flush()
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.decoding.server")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="LoRA of the reader, a GGUF or a folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=12_288, help="tokens of the longest prompt and answer")
    parser.add_argument("--states", type=Path, help="folder in which menus that were read are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
