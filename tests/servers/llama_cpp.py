"""llama.cpp's own server, from the `xllamacpp` wheel, as an operator may have one, for the contract suite.

It answers 200 with unmasked text when a grammar does not compile: its client must check grammars before and
answers after. Prompts longer than a slot get 400; answers that fill it end as `length`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from infra.processes.signals import StopSignal
from services.decoding.hosts.variables import KEY_ENV, OPENMP_ENV

PROMPT_CACHE_MIB = 512  # about 9 prefixes of 2,000 tokens beyond those in slots; the default is 8 GiB


def command(
    model: Path, port: int, *, slots: int, context: int = 12_288, adapter: Path | None = None
) -> tuple[str, ...]:
    """The argument list that starts the server. `context` is in tokens for each slot; `adapter` is a GGUF,
    at work for requests that ask for it."""
    words = (model, port, slots, context, *([adapter] if adapter else []))
    return (sys.executable, "-m", "tests.servers.llama_cpp", *map(str, words))


def main(model: str, port: str, slots: str, context: str, *adapters: str) -> None:
    """Serve until TERM or INT."""
    for key, value in OPENMP_ENV.items():  # read when libgomp loads, hence before xllamacpp
        os.environ.setdefault(key, value)
    import xllamacpp

    # Serves on threads of its own, 503 at first; returns when the model is loaded.
    server = xllamacpp.Server(_params(xllamacpp, Path(model), int(port), int(slots), int(context), adapters))
    stop = StopSignal()
    print(server.listening_address, flush=True)
    stop.wait()
    # Without taking the server down: asked right after its start, its own stop waits for good for a thread
    # that has just begun to accept (seen once in 12 starts). The kernel closes the port; what is in flight is
    # cut off either way, and its client tries again.
    os._exit(0)


def _params(
    xllamacpp: Any, model: Path, port: int, slots: int, context: int, adapters: tuple[str, ...]
) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.name}  # what /v1/models shows, in place of a path of this machine
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.kv_unified = False  # each slot has its own room: one long order can't take another's
    params.fit_params = False  # else a short machine gets a shorter context than was asked for, silently
    params.ctx_shift = False  # dropping the oldest tokens would drop the menu; `length` is honest
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    # What comes or is called off while a prompt is read is seen between two batches.
    params.n_batch = 128
    for path in adapters:
        # CommonAdapterLoraInfo has no constructor of its own.
        adapter = xllamacpp.CommonAdapterLoraInfo()
        # With 0, it is at work for requests that ask for it alone.
        adapter.path, adapter.scale = path, 0.0
        params.lora_adapters = [adapter]
    params.cache_prompt = True
    params.cache_ram_mib = PROMPT_CACHE_MIB
    # A new order goes to the slot whose cached prompt it shares at least this share of; the fixed part of
    # our prompts is nearly all of them, so an order of another menu must not push a warm one out.
    params.slot_prompt_similarity = 0.5
    if key := os.environ.get(KEY_ENV):
        params.api_keys = [key]
    params.endpoint_metrics = True
    params.verbosity = 2  # warnings and errors; 3 adds several lines a request
    return params


if __name__ == "__main__":
    main(*sys.argv[1:])
