"""llama.cpp's own server, from the `xllamacpp` wheel, for the contract suite: operators may use one.

If a grammar does not compile, it answers 200 with unmasked text, so clients must check grammars before and
answers after. Prompts longer than a slot get 400; answers that fill the slot end with `length`.
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
    """Return the server's command line. `context` is in tokens per slot; `adapter` is a GGUF that requests
    can enable."""
    words = (model, port, slots, context, *([adapter] if adapter else []))
    return (sys.executable, "-m", "tests.servers.llama_cpp", *map(str, words))


def main(model: str, port: str, slots: str, context: str, *adapters: str) -> None:
    """Serve until TERM or INT."""
    for key, value in OPENMP_ENV.items():  # read when libgomp loads, hence before xllamacpp
        os.environ.setdefault(key, value)
    import xllamacpp

    # Serves on its own threads, 503 at first; returns when the model is loaded.
    server = xllamacpp.Server(_params(xllamacpp, Path(model), int(port), int(slots), int(context), adapters))
    stop = StopSignal()
    print(server.listening_address, flush=True)
    stop.wait()
    # Don't stop the server first: right after start, its stop may wait forever for a thread that has just
    # begun to accept (seen once in 12 starts). The kernel closes the port; requests in flight are lost either
    # way.
    os._exit(0)


def _params(
    xllamacpp: Any, model: Path, port: int, slots: int, context: int, adapters: tuple[str, ...]
) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.name}  # shown by /v1/models instead of a path
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.kv_unified = False  # separate cache per slot: a long order can't use another's
    params.fit_params = False  # else the context is silently reduced when memory is short
    params.ctx_shift = False  # a context shift would drop the menu; end with `length` instead
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    # New and cancelled requests are handled between two batches of a prompt.
    params.n_batch = 128
    for path in adapters:
        # CommonAdapterLoraInfo's constructor takes no arguments.
        adapter = xllamacpp.CommonAdapterLoraInfo()
        # Off by default: requests enable it.
        adapter.path, adapter.scale = path, 0.0
        params.lora_adapters = [adapter]
    params.cache_prompt = True
    params.cache_ram_mib = PROMPT_CACHE_MIB
    # An order goes to a slot with at least this share of its prompt cached. A prompt is nearly all menu, so
    # orders for another menu don't evict a warm one.
    params.slot_prompt_similarity = 0.5
    if key := os.environ.get(KEY_ENV):
        params.api_keys = [key]
    params.endpoint_metrics = True
    params.verbosity = 2  # warnings and errors; 3 adds several lines per request
    return params


if __name__ == "__main__":
    main(*sys.argv[1:])
