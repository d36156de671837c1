"""A vLLM server for a bench, run by the interpreter of vLLM's own environment (`--python`)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import httpx

from services.decoding.hosts.vllm_server import ON_CPU, ON_CPU_FLAGS
from services.decoding.hosts.vllm_server import environment as serving_environment

START_S = 600


def command(python: Path, model: Path, backend: str, port: int, device: str, extra: list[str]) -> list[str]:
    """The argument list of a server. On the CPU: no graphs to compile, and a cache of fixed size."""
    structured = {"backend": backend, "disable_any_whitespace": True}
    words = [
        str(python),
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    words += ["--model", str(model), "--served-model-name", model.name, "--max-model-len", "8192"]
    words += ["--max-num-seqs", "128", "--generation-config", "vllm", "--enable-prompt-tokens-details"]
    words += ["--structured-outputs-config", json.dumps(structured)]
    if device == "cpu":
        on_cpu = {**ON_CPU, "--kv-cache-memory-bytes": "768M"}
        words += [*ON_CPU_FLAGS, *(part for pair in on_cpu.items() for part in pair)]
    return [*words, *extra]


def environment(device: str, threads: int) -> dict[str, str]:
    """Nothing is asked of a model hub, and a CPU's threads are not bound to cores."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        **serving_environment(device, threads),
        "HF_HUB_OFFLINE": "1",
        # On a GPU vLLM else samples by flashinfer, no part of it, which compiles when it is first used.
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
    }


@contextmanager
def vllm_server(
    python: Path, model: Path, *, backend: str, port: int, device: str = "cpu", threads: int = 2,
    extra: tuple[str, ...] = (),
) -> Iterator[str]:  # fmt: skip
    """Start a server, give its address when it is healthy, end it and its children afterwards.

    Raises:
        SystemExit: it ended or did not answer in time; its last words are shown.
    """
    words = command(python, model, backend, port, device, list(extra))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        server = subprocess.Popen(
            words,
            env=environment(device, threads),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            if not _healthy(server, url):
                output.seek(0)
                raise SystemExit(f"vLLM ({backend}) did not start:\n{output.read()[-3000:]}")
            yield url
        finally:
            end(server)


def _healthy(server: subprocess.Popen[bytes], url: str) -> bool:
    until = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(f"{url}/health", trust_env=False, timeout=5).status_code == 200:
                return True
        except httpx.HTTPError:
            pass
        time.sleep(1)
    return False


def end(server: subprocess.Popen[bytes]) -> None:
    """End the process group: vLLM's engine is a child of its server. While it starts, TERM is lost on it."""
    try:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(20)
        os.killpg(server.pid, signal.SIGKILL)  # an engine that outlived its server
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    except ProcessLookupError:
        server.wait()


def about(args: argparse.Namespace, url: str) -> dict[str, object]:
    """What a bench was run on: model, device, versions and date."""
    return {
        "model": args.model.name,
        "device": args.device,
        "cores": os.cpu_count(),
        "server_threads": args.threads if args.device == "cpu" else None,
        "vllm": httpx.get(f"{url}/version", trust_env=False).json()["version"],
        "llguidance_of_the_client": version("llguidance"),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that every bench on vLLM takes."""
    parser.add_argument(
        "--python", type=Path, default=Path(".venv-vllm/bin/python"), help="of vLLM's environment"
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of weights in safetensors")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of one server, on the CPU")
