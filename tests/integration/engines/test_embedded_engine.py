"""The embedded engine as a process, with a small real model. tests/engines has its contract, `test_reader.py`
its carts."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.processes.ports import any_free
from infra.settings import Settings, settings
from infra.weights import adapters
from infra.weights.models import resolve
from services.decoding.decoder import OpenAIDecoder
from services.decoding.hosts.embedded import decode_server, engine_child, served_at
from services.decoding.hosts.variables import KEY_ENV
from services.workers.stack import Stack

MODEL = "smollm2-135m-instruct-q4_1.gguf"
CHAT = "/v1/chat/completions"
HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "Say: hello"}], "max_tokens": 4}


@pytest.fixture(scope="module")
def served() -> Iterator[Settings]:
    wanted = settings().model_copy(update={"llm_url": "", "llm_api_key": "", "llm_model": MODEL})
    with decode_server(wanted) as running:
        yield running


def ask(served: Settings, raw: bytes = b"", **more: Any) -> httpx.Response:
    key = {"Authorization": f"Bearer {served.llm_api_key}"}
    body = raw or json.dumps(HELLO | more).encode()
    return httpx.post(f"{served.llm_url}{CHAT}", content=body, headers=key, timeout=60, trust_env=False)


def said(served: Settings, **more: Any) -> str:
    return str(ask(served, **more).json()["choices"][0]["message"]["content"])


@pytest.mark.models
def test_it_requires_a_key_of_its_own(served: Settings) -> None:
    assert len(served.llm_api_key) >= 43
    asks: list[tuple[str, str, Any]] = [
        ("GET", "/lora-adapters", None),
        ("POST", "/tokenize", {"content": "a"}),
        ("POST", CHAT, HELLO),
    ]
    with httpx.Client(base_url=served.llm_url, trust_env=False) as http:
        for method, path, body in asks:
            for key in ("", "x", "Bearer", served.llm_api_key[:-1]):
                header = {"Authorization": f"Bearer {key}"} if key else {}
                assert http.request(method, path, json=body, headers=header).status_code == 401, path
            header = {"Authorization": f"Bearer {served.llm_api_key}"}
            assert http.request(method, path, json=body, headers=header, timeout=60).status_code == 200, path
    lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
    assert any(b"services.decoding.server" in line for line in lines)
    assert not any(served.llm_api_key.encode() in line for line in lines)
    OpenAIDecoder(
        served.llm_url, dialect="llama.cpp", model=served.llm_model, api_key=served.llm_api_key
    ).probe()
    assert served_at(served, 1).llm_api_key == served.llm_api_key
    assert served_at(served.model_copy(update={"llm_api_key": ""}), 1).llm_api_key != served.llm_api_key


@pytest.mark.models
def test_sampling_is_reproducible_by_seed(served: Settings) -> None:
    drawn = [said(served, temperature=1.5, seed=seed, max_tokens=12) for seed in (3, 3, 4, 5)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert said(served) == said(served, temperature=0, seed=9)


@pytest.mark.models
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"grammar": "start: ("}, "compile"),
        ({"grammar": 'root ::= "GBNF"'}, "compile"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"structured_outputs": {"grammar": 'start: "a"'}}, "structured_outputs"),
        ({"logit_bias": {"5": 100}}, "logit_bias"),
        ({"stream": True}, "stream"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"seed": "x"}, "seed"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"prediction": "a"}, "prediction"),
        ({"lora": [{"id": 0, "scale": 1.0}]}, "adapter"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "assistant", "content": "Once"}]}, "messages"),
        ({"raw": b"{"}, "JSON"),
        ({"raw": b"[]"}, "object"),
    ],
    ids=str,
)
def test_unsupported_requests_are_rejected_in_openai_format(
    served: Settings, more: dict[str, Any], named: str
) -> None:
    answer = ask(served, **more)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert named in error["message"]


def test_all_processes_of_a_stack_have_the_engines_key(tmp_path: Path) -> None:
    stack = Stack(Settings(home=tmp_path, llm_model=MODEL, redis_url="redis://127.0.0.1:1/0"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        parts = {child.name: child for child in stack._children(listener)}
    key = parts.pop("reader").env[KEY_ENV]
    assert len(key) >= 43
    assert {child.env["SAYCART_LLM_API_KEY"] for child in parts.values()} == {key}
    assert {"decode", "api"} <= parts.keys()
    assert not any(key in word for child in parts.values() for word in child.argv)


def test_no_adapter_is_loaded_for_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "prepared", lambda folder, _: folder)
    here = settings().model_copy(update={"llm_url": ""})
    for change in ({}, {"llm_model": MODEL}):
        config = here.model_copy(update=change)
        argv = engine_child(config, 1, Path("log"), Path("states")).argv
        assert ("--adapter" in argv) == (not change)


def started(model: str, states: Path) -> subprocess.Popen[str]:
    words = ("-m", "services.decoding.server", "--model", model, "--port", str(any_free()))
    return subprocess.Popen(
        [sys.executable, *words, "--context", "512", "--states", str(states)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.models
def test_term_stops_it_cleanly(tmp_path: Path) -> None:
    process = started(resolve(MODEL, settings().models_dir), tmp_path)
    try:
        assert process.stdout is not None
        assert any(line.startswith(MODEL) for line in process.stdout)
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("content", [None, b"<html>"])
def test_the_error_names_a_bad_file(tmp_path: Path, content: bytes | None) -> None:
    model = tmp_path / "model.gguf"
    if content is not None:
        model.write_bytes(content)
    process = started(str(model), tmp_path)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "model.gguf" in output
    assert "Traceback" not in output


def test_the_error_names_the_package_of_libgomp(tmp_path: Path) -> None:
    fake = tmp_path / "xllamacpp.py"
    fake.write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        "from services.decoding.server import llama\n"
        "llama.compiled = lambda: None\n"
        "try: llama.library()\nexcept Exception as error: print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "apt-get install libgomp1" in done.stdout
