"""The embedded engine: a single process with one copy of the weights, for orders and masked calls.

    python -m services.decoding.server --model FILE --port N --states FOLDER [--adapter FILE] [--host H]
        [--threads T] [--context C]

It has the paths of llama.cpp's server (`http.py`), but verifies a predicted cart in one pass, and caches the
states of recent menus in the folder `--states`. If `LLAMA_API_KEY` is set, requests need this key,
since other users of the machine reach loopback as well; it is an environment variable, since `ps` shows
command lines to everyone. A grammar that does not compile is an error, so no answer is without its mask. Use
`--host 0.0.0.0` only in a container that nothing but its clients can reach.

It decodes one answer at a time, and checks ten times per second whether the client closed the connection.
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
    """Serve until TERM or INT. Exit codes: 0 stopped, 2 wrong usage, 3 failed to load, or port in use."""
    args = _parser().parse_args(argv)
    for key, value in OPENMP_ENV.items():  # read when libgomp loads
        os.environ.setdefault(key, value)
    from services.decoding.server.service import ChatEngine

    try:
        engine = ChatEngine(
            args.model,
            prepared(args.adapter, args.model.parent) if args.adapter else None,
            args.states,
            context=args.context,
            threads=args.threads,
        )
        listener = socket.create_server((args.host, args.port))
    except (SaycartError, OSError) as error:
        reason = f"{error} {error.hint}" if isinstance(error, SaycartError) else str(error)
        print(f"The embedded engine did not start: {reason}", flush=True)
        return 3
    serve = server(engine, os.environ.get(KEY_ENV, "")).run
    threading.Thread(target=serve, kwargs={"sockets": [listener]}, daemon=True).start()
    stop = StopSignal()
    print(f"{engine.name} serves at http://{args.host}:{listener.getsockname()[1]}", flush=True)
    stop.wait()
    # Without cleanup: an answer can't be stopped within a batch, and its client retries.
    sys.stdout.flush()
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.decoding.server")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="LoRA adapter for orders, a GGUF file or a folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=12_288, help="maximum tokens of prompt and answer")
    parser.add_argument("--states", type=Path, required=True, help="folder for the cached states of menus")
    return parser


if __name__ == "__main__":
    sys.exit(main())
