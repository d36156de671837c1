"""llama.cpp's own server, from the `xllamacpp` wheel, as an operator may have one, for the contract suite.

    python -m tests.servers.llama_cpp --model FILE --port N [--threads T] [--slots S] [--context C]
        [--adapter FILE]

It answers 200 with unmasked text when a grammar does not compile: its client must check grammars before and
answers after. Prompts longer than a slot get 400; answers that fill it end as `length`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from infra.processes.signals import StopSignal
from infra.weights.adapters import as_gguf
from services.decoding.hosts.variables import KEY_ENV, OPENMP_ENV

PROMPT_CACHE_MIB = 512  # about 9 prefixes of 2,000 tokens beyond those in slots; the default is 8 GiB


def command(
    model: Path,
    port: int,
    *,
    name: str = "",
    threads: int = 2,
    slots: int = 2,
    context: int = 12_288,
    adapter: Path | None = None,
) -> tuple[str, ...]:
    """The argument list that starts the server. `context` is in tokens for each slot; `adapter` is a GGUF,
    at work for requests that ask for it."""
    options: dict[str, object] = {
        "--model": model,
        "--name": name or model.name,
        "--host": "127.0.0.1",
        "--port": port,
        "--threads": threads,
        "--slots": slots,
        "--context": context,
    }
    if adapter is not None:
        options["--adapter"] = adapter
    flat = (str(part) for pair in options.items() for part in pair)
    return (sys.executable, "-m", "tests.servers.llama_cpp", *flat)


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT."""
    args = _parser().parse_args(argv)
    args.name = args.name or args.model.name
    for key, value in OPENMP_ENV.items():  # read when libgomp loads, hence before xllamacpp
        os.environ.setdefault(key, value)
    if args.adapter:
        args.adapter = as_gguf(args.adapter, args.model.parent)
    import xllamacpp

    # Serves on threads of its own, 503 at first; returns when the model is loaded.
    server = xllamacpp.Server(_params(xllamacpp, args))
    stop = StopSignal()
    print(f"{args.name} serves at {server.listening_address}", flush=True)
    stop.wait()
    # Without taking the server down: told so right after its start, its own stop waits for good for a thread
    # that has just begun to accept (seen once in 12 starts). The kernel closes the port; what is in flight is
    # cut off either way, and its client tries again.
    sys.stdout.flush()
    os._exit(0)


def _params(xllamacpp: Any, args: argparse.Namespace) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(args.model)
    params.model_alias = {args.name}  # what /v1/models shows, in place of a path of this machine
    params.hostnames = [args.host]
    params.port = args.port
    params.n_parallel = args.slots
    params.n_ctx = args.context * args.slots
    params.kv_unified = False  # each slot has its own room: one long order can't take another's
    params.fit_params = False  # else a short machine gets a shorter context than was asked for, silently
    params.ctx_shift = False  # dropping the oldest tokens would drop the menu; `length` is honest
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.n_threads_http = 8
    # What comes or is called off while a prompt is read is seen between two batches. Of 2048 tokens, the
    # default, that was after the whole prompt of a menu; of 512 after 10 s of a 1.5B on two cores. A prompt
    # of 449 tokens took 8.9 s in batches of 512 and 9.6 s in batches of 128.
    params.n_batch = 128
    if args.adapter:
        # CommonAdapterLoraInfo has no constructor of its own.
        adapter = xllamacpp.CommonAdapterLoraInfo()
        # With 0, it is at work for requests that ask for it alone.
        adapter.path, adapter.scale = str(args.adapter), 0.0
        params.lora_adapters = [adapter]
    params.cache_prompt = True
    params.cache_ram_mib = PROMPT_CACHE_MIB
    # A new order goes to the slot whose cached prompt it shares at least this share of; the fixed part of
    # our prompts is nearly all of them, so an order of another menu must not push a warm one out.
    params.slot_prompt_similarity = 0.5
    if key := os.environ.get(KEY_ENV):
        params.api_keys = [key]
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.ui = False
    params.cors_origins = f"http://{args.host}"  # the default lets any web page ask this server
    params.verbosity = 2  # warnings and errors; 3 adds several lines a request
    return params


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.servers.llama_cpp")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="LoRA, a GGUF or a folder, for requests that ask for it")
    parser.add_argument("--name", default="")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--context", type=int, default=12_288, help="tokens a slot")
    return parser


if __name__ == "__main__":
    sys.exit(main())
