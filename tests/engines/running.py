"""Engines for the contract suite: the embedded one, llama.cpp's own server, and vLLM if it is available.

vLLM is started with the interpreter SAYCART_TEST_VLLM_PYTHON (`make test-vllm`), or already runs at
SAYCART_TEST_VLLM_URL with the model SAYCART_TEST_VLLM_MODEL.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.settings import settings
from infra.weights.adapters import adapter_for
from infra.weights.models import resolve
from infra.weights.safetensors import weights
from services.decoding.decoder import OpenAIDecoder
from services.decoding.hosts.embedded import answers, engine_child, served_at
from services.decoding.hosts.variables import KEY_ENV
from tests.servers import llama_cpp
from tests.servers import vllm as vllm_server
from tests.waiting import until

SMALL = "smollm2-135m-instruct-q4_1.gguf"
VLLM = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
# Gauges and counters of each server's /metrics.
RUNNING = {"llama.cpp": "llamacpp:requests_processing", "vllm": "vllm:num_requests_running"}
WAITING = {"llama.cpp": "llamacpp:requests_deferred", "vllm": "vllm:num_requests_waiting"}
WRITTEN = {"llama.cpp": "llamacpp:tokens_predicted_total", "vllm": "vllm:generation_tokens_total"}
START_S = 400.0
SOON_S = 60.0
# llama.cpp checks for closed connections after a second without any response, and its metrics are a
# response: polled more often than this, it never checks.
RARELY_S = 1.5


@dataclass
class Engine:
    """A server. `crash` kills it and returns its session id, and its supervisor restarts it; None if it is
    external."""

    dialect: str
    url: str
    model: str
    crash: Callable[[], int] | None
    slow: int
    """Factor for time limits: 1 for the embedded engine with a tiny model."""
    adapter: str = ""
    """Name of the loaded adapter; empty if there is none."""
    cpu_s: Callable[[], float] | None = None
    """CPU seconds of the embedded engine, which has no metrics; a token takes at least 5 ms."""

    def decoder(self, **more: Any) -> OpenAIDecoder:
        own = {"timeout_s": 60.0 * self.slow}
        return OpenAIDecoder(self.url, dialect=self.dialect, model=self.model, **{**own, **more})

    def gauge(self, name: str) -> float:
        """Return a metric, summed over labels."""
        text = httpx.get(f"{self.url}/metrics", timeout=10, trust_env=False).text
        samples = (s for family in text_string_to_metric_families(text) for s in family.samples)
        return sum(sample.value for sample in samples if sample.name == name)

    def busy(self) -> float:
        """Return the number of running and queued requests, or the CPU seconds of the next half second."""
        if self.cpu_s:
            before = self.cpu_s()
            time.sleep(0.5)
            return round(self.cpu_s() - before, 1)
        return self.gauge(RUNNING[self.dialect]) + self.gauge(WAITING[self.dialect])

    def written(self) -> float:
        """Return the number of tokens generated since the start."""
        return 200 * self.cpu_s() if self.cpu_s else self.gauge(WRITTEN[self.dialect])

    def until(self, true: Callable[[], object], every_s: float = 0.05) -> None:
        until(true, SOON_S * self.slow, every_s=every_s)


def living(session: int) -> list[int]:
    """Return the processes of a session; vLLM's engine is a child of its server."""
    found = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError):
            if os.getsid(process.pid) == session:
                found.append(process.pid)
    return found


@contextmanager
def _started(home: Path, engine: Engine, child: Child) -> Iterator[Engine]:
    supervisor = Supervisor(home)
    supervisor.start([child])

    def crash() -> int:
        pid = supervisor.pid(child.name)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return pid

    def cpu_s() -> float:
        return sum(psutil.Process(supervisor.pid(child.name)).cpu_times()[:2])

    engine.crash, engine.cpu_s = crash, cpu_s if child.name == "reader" else None
    try:
        yield engine
    finally:
        supervisor.stop()


def _child(home: Path, engine: Engine, argv: Any, env: Any) -> Child:
    ready = partial(answers, f"{engine.url}/health")
    return Child("engine", argv, home / "log", ready, ready_timeout_s=START_S, env=env)


@contextmanager
def embedded(home: Path) -> Iterator[Engine]:
    """The embedded engine, as a stack starts it."""
    port = any_free()
    config = settings().model_copy(update={"llm_model": SMALL})
    child = engine_child(served_at(config, port), port, home / "log", home / "states")
    engine = Engine("llama.cpp", f"http://127.0.0.1:{port}", SMALL, None, slow=1)
    with _started(home, engine, replace(child, env={})) as running:
        yield running


@contextmanager
def llama(
    home: Path, model: str = SMALL, *, slots: int = 2, adapter: Path | None = None, key: str = ""
) -> Iterator[Engine]:
    """llama.cpp's own server, as an operator may run it."""
    port, weights = any_free(), Path(resolve(model, settings().models_dir))
    argv = llama_cpp.command(weights, port, slots=slots, context=8192, adapter=adapter)
    engine = Engine("llama.cpp", f"http://127.0.0.1:{port}", model, None, slow=1)
    with _started(home, engine, _child(home, engine, argv, {KEY_ENV: key} if key else {})) as running:
        yield running


@contextmanager
def vllm(home: Path) -> Iterator[Engine]:
    if url := os.environ.get("SAYCART_TEST_VLLM_URL"):
        model = os.environ.get("SAYCART_TEST_VLLM_MODEL", VLLM)
        adapter = adapter_for(model)
        yield Engine("vllm", url, model, None, slow=10, adapter=adapter.name if adapter else "")
        return
    python, port = Path(os.environ["SAYCART_TEST_VLLM_PYTHON"]).absolute(), any_free()
    model, name = weights(VLLM, settings().models_dir, python)
    adapter = adapter_for(name)
    argv = vllm_server.command(python, model, name, port, host="127.0.0.1", device="cpu", adapter=adapter)
    env = {**vllm_server.environment("cpu", threads=2), "HF_HUB_OFFLINE": "1"}
    read = adapter.name if adapter else ""
    engine = Engine("vllm", f"http://127.0.0.1:{port}", name, None, slow=10, adapter=read)
    with _started(home, engine, _child(home, engine, argv, env)) as running:
        yield running


def has_vllm() -> bool:
    return any(os.environ.get(name) for name in ("SAYCART_TEST_VLLM_URL", "SAYCART_TEST_VLLM_PYTHON"))
