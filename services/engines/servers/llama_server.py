"""The embedded llama.cpp server, from the `xllamacpp` wheel, as a child process of ours.

    python -m services.engines.servers.llama_server --model FILE --port N [--threads T]
        [--slots S] [--context C] [--adapter FILE]

Cost, measured with the 1.5B model (Q4_K_M), 2 slots of 12,288 tokens: 2.5 GB resident after loading, of
which 1.1 GB is the mapped file (given back under pressure), 0.6 GB weights repacked for the CPU and 0.7 GB
the KV cache, which is 28 KB a token; 2.9 GB after orders on three menus, with the prompt cache filling.

Where `LLAMA_API_KEY` is set, only who shows that key may ask, since other users of the machine reach loopback
too; the environment holds it, since `ps` shows a command line to all. `/health` and `/v1/models` stay open.

This server answers 200 with unmasked text when a grammar does not compile: its client must check grammars
before and answers after. Prompts longer than a slot get 400; answers that fill it end as `length`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from infra.processes.signals import StopSignal
from services.engines.reader.adapters import as_gguf

# For what shares the cores with others and was not measured with more: the workers, and vLLM.
QUIET_OPENMP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
# Read when libgomp loads, hence before xllamacpp. A token has some 800 barriers: a short spin saves waking
# at each, a long one takes the cores from Whisper (docs/engines.md has the figures).
OPENMP_ENV = {**QUIET_OPENMP, "GOMP_SPINCOUNT": "300"}
KEY_ENV = "LLAMA_API_KEY"  # as llama.cpp's own program calls it
PROMPT_CACHE_MIB = 512  # about 9 prefixes of 2,000 tokens beyond those in slots; the default is 8 GiB
LIBGOMP_HINT = "The system's libgomp is missing: apt-get install libgomp1"


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
    return (sys.executable, "-m", "services.engines.servers.llama_server", *flat)


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT. Exit codes: 0 stopped, 2 wrong use or no model file, 3 could not load."""
    args = _parser().parse_args(argv)
    args.name = args.name or args.model.name
    problem = _problem(args.model)
    if problem:
        print(problem, flush=True)
        return 2
    for key, value in OPENMP_ENV.items():
        os.environ.setdefault(key, value)
    if args.adapter:
        args.adapter = as_gguf(args.adapter, args.model.parent)
    try:
        import xllamacpp
    except ImportError as error:
        print(f"xllamacpp could not be loaded: {error}", flush=True)
        print(LIBGOMP_HINT if "libgomp" in str(error) else "Run `make setup` again.", flush=True)
        return 3
    try:
        # Serves on threads of its own, 503 at first; returns when the model is loaded. A signal in the
        # meantime has its default action and ends the process at once, as it should.
        server = xllamacpp.Server(_params(xllamacpp, args))
    except RuntimeError as error:
        print(
            f"The server did not start on port {args.port} with {args.model}: {error} (a damaged file, "
            "too little memory, or the port was taken in between; see the lines above)",
            flush=True,
        )
        return 3
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


def _problem(model: Path) -> str:
    """What is wrong with the file, told before llama.cpp would fail without naming it."""
    if not model.is_file():
        return f"There is no model file {model}; `saycart models fetch` gets it."
    with model.open("rb") as file:
        if file.read(4) != b"GGUF":
            return f"{model} is not a GGUF file; `saycart models fetch` gets a whole one."
    return ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.engines.servers.llama_server")
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
