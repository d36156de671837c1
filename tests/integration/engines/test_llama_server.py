"""The embedded llama.cpp server with a small real model."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.settings import Settings, settings
from infra.weights.models import resolve
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.servers import llama_server
from services.engines.servers.embedded import decode_server, served_at
from services.workers.stack import Stack

MODEL = "smollm2-135m-instruct-q4_1.gguf"


def running(home: Path, model: str) -> tuple[Supervisor, str]:
    port = any_free()
    url = f"http://127.0.0.1:{port}"
    supervisor = Supervisor(home)
    argv = llama_server.command(Path(model), port, name="small", context=512, slots=1)
    child = Child("llm", argv, home / "llm.log", lambda: _healthy(url), env=llama_server.OPENMP_ENV)
    supervisor.start([child])
    return supervisor, url


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Supervisor, str]]:
    supervisor, url = running(tmp_path_factory.mktemp("llama"), resolve(MODEL, settings().models_dir))
    yield supervisor, url
    supervisor.stop()


def ask(url: str, text: str, **more: object) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, **more}
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60, trust_env=False)


@pytest.mark.models
def test_obeys_a_grammar(served: tuple[Supervisor, str]) -> None:
    grammar = '%llguidance {}\nstart: "order " /[0-9]{4}/ " is " ("ready" | "late")'
    answer = ask(served[1], "Tell me a story.", grammar=grammar, max_tokens=40).json()
    choice = answer["choices"][0]
    assert re.fullmatch(r"order \d{4} is (ready|late)", choice["message"]["content"])
    assert choice["finish_reason"] == "stop"


@pytest.mark.models
def test_serves_under_a_name_with_the_context_asked_for(served: tuple[Supervisor, str]) -> None:
    url = served[1]
    models = httpx.get(f"{url}/v1/models", trust_env=False).json()
    assert [model["id"] for model in models["data"]] == ["small"]
    assert [slot["n_ctx"] for slot in httpx.get(f"{url}/slots", trust_env=False).json()] == [512]
    assert "/" not in httpx.get(url, headers={"Origin": "http://evil.test"}, trust_env=False).headers.get(
        "access-control-allow-origin", ""
    ).removeprefix("http://127.0.0.1")


@pytest.mark.models
def test_nothing_is_ever_shifted_out_of_the_context(served: tuple[Supervisor, str]) -> None:
    assert ask(served[1], "word " * 900, max_tokens=5).status_code == 400
    long = ask(served[1], "Count.", grammar="%llguidance {}\nstart: /[0-9]{4000}/").json()
    assert long["choices"][0]["finish_reason"] == "length"


@pytest.mark.models
def test_the_embedded_server_asks_for_a_key_of_its_own_life(tmp_path: Path) -> None:
    wanted = settings().model_copy(
        update={"llm_url": "", "llm_api_key": "", "llm_model": MODEL, "reader": "off"}
    )
    with decode_server(wanted) as first, httpx.Client(base_url=first.llm_url, trust_env=False) as http:
        assert len(first.llm_api_key) >= 43
        asks: list[tuple[str, str, Any]] = [
            ("GET", "/slots", None),
            ("GET", "/props", None),
            ("GET", "/metrics", None),
            ("GET", "/lora-adapters", None),
            ("POST", "/tokenize", {"content": "a"}),
            ("POST", "/completion", {"prompt": "a", "n_predict": 1}),
            (
                "POST",
                "/v1/chat/completions",
                {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1},
            ),
        ]
        for method, path, body in asks:
            for key in ("", "x", "Bearer", first.llm_api_key[:-1]):
                header = {"Authorization": f"Bearer {key}"} if key else {}
                assert http.request(method, path, json=body, headers=header).status_code == 401, path
            header = {"Authorization": f"Bearer {first.llm_api_key}"}
            assert http.request(method, path, json=body, headers=header, timeout=60).status_code == 200, path
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
        assert any(b"services.engines.servers.llama_server" in line for line in lines)
        assert not any(first.llm_api_key.encode() in line for line in lines)
        OpenAIDecoder(
            first.llm_url, dialect="llama.cpp", model=first.llm_model, api_key=first.llm_api_key
        ).probe()
    assert served_at(wanted, 1).llm_api_key != first.llm_api_key
    assert served_at(wanted.model_copy(update={"llm_api_key": "given"}), 1).llm_api_key == "given"


def test_every_part_of_a_stack_has_the_key_of_its_decode_server(
    tmp_path: Path,
) -> None:
    stack = Stack(Settings(home=tmp_path, llm_model=MODEL, redis_url="redis://127.0.0.1:1/0", reader="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        parts = {child.name: child for child in stack._children(listener)}
    key = parts.pop("llm").env[llama_server.KEY_ENV]
    assert len(key) >= 43
    assert {child.env["SAYCART_LLM_API_KEY"] for child in parts.values()} == {key}
    assert {"decode", "api"} <= parts.keys()
    assert not any(key in word for child in parts.values() for word in child.argv)


@pytest.mark.models
def test_term_ends_it_cleanly(tmp_path: Path) -> None:
    port = any_free()
    argv = llama_server.command(Path(resolve(MODEL, settings().models_dir)), port, context=512, slots=1)
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        end = time.monotonic() + 30
        # Its line is printed after its signal handlers are in place; /health answers a little before.
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(MODEL), line
        assert time.monotonic() < end
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("content", "says"), [(None, "no model file"), (b"<html>", "not a GGUF file")])
def test_a_bad_file_is_named(tmp_path: Path, content: bytes | None, says: str) -> None:
    model = tmp_path / "model.gguf"
    if content is not None:
        model.write_bytes(content)
    done = subprocess.run(llama_server.command(model, any_free()), capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert says in done.stdout


def test_a_missing_libgomp_names_its_package(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    fake = tmp_path / "xllamacpp.py"
    fake.write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        " from services.engines.servers.llama_server import main;"
        f" sys.exit(main(['--model', {str(tmp_path / 'model.gguf')!r}, '--port', '1']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 3
    assert "apt-get install libgomp1" in done.stdout
