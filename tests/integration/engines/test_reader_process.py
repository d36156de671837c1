"""The reader's own server as the stack starts it, over HTTP. What it reads is held against llama.cpp's server
in `test_reader.py`."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.settings import Settings, settings
from infra.weights import adapters
from infra.weights.models import ModelError, resolve
from schemas.errors import DecodeCancelled, EngineMisconfigured
from schemas.menu import Menu
from services.bootstrap import Container
from services.decoding.calls import Calls
from services.decoding.completion import Completions
from services.decoding.hosts.embedded import (
    MODEL_TIMEOUT_S,
    answers,
    engine_child,
    served_at,
)
from services.decoding.menu_context import MenuContext
from services.decoding.ports import CartRequest
from services.decoding.reading import MOST_TOKENS
from services.decoding.wire_mask import wire_mask
from services.learning.training.notation import read_menu

# Small: a prompt of a hundred tokens is read in a second or two.
MENU: Menu = read_menu(Path(__file__).with_name("burger-stand.menu"))
CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Say: hello"}], "max_tokens": 1}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The embedded engine with the default model, and nothing else of a stack."""
    folder, port = tmp_path_factory.mktemp("reader"), any_free()
    alone = {"llm_api_key": "of this test alone", "home": folder}
    here = settings().model_copy(update=alone)
    try:
        resolve(here.llm_model, here.models_dir)
    except ModelError:
        pytest.skip("the default weights are not here: saycart models fetch")
    supervisor = Supervisor(folder)
    supervisor.start([engine_child(here, port, folder / "reader.log", folder / "states")])
    try:
        yield served_at(here, port)
    finally:
        supervisor.stop()


@pytest.fixture(scope="module")
def parts(config: Settings) -> Iterator[Container]:
    found = Container(config)
    yield found
    found.close()


def test_what_is_warmed_need_not_be_read_by_the_order(parts: Container, config: Settings) -> None:
    parts.warm_menu(MENU)
    fresh = Container(config)  # of another process, which asks for a proof of its own
    found = fresh.decoder.decode(CartRequest("a cheeseburger", MENU))
    assert found is not None
    assert found.cached_tokens > found.prompt_tokens - 20, "all but the customer's words and names"
    fresh.close()


def test_it_is_proved_and_asked_for_its_health(config: Settings) -> None:
    def checked(url: str) -> str:
        parts = Container(config.model_copy(update={"llm_url": url}))
        parts.prove_decoder()
        until = time.monotonic() + 60
        while (found := parts.ready()["decoder"]) == "not known yet" and time.monotonic() < until:
            time.sleep(0.1)
        parts.close()
        return found

    assert checked(config.llm_url) == "ok"
    assert checked(f"http://127.0.0.1:{any_free()}") == "no answer"


def test_a_guess_changes_the_time_and_never_the_cart(config: Settings, parts: Container) -> None:
    """The decoder sends a guess; without one the same cart is written."""
    order, context = CartRequest("two hamburgers and a large fries", MENU), MenuContext(MENU)
    found = parts.decoder.decode(order)
    calls = Calls(config.llm_url, timeout_s=120, api_key=config.llm_api_key)
    model = Completions(calls, "llama.cpp", config.llm_model, "orders")
    mask = wire_mask(context.names, order.transcript)
    text, _ = model.whole(context.messages(order), mask, {"max_tokens": MOST_TOKENS})
    assert text == found.text
    assert found.engine == "llama.cpp:qwen2.5-coder-1.5b-orders"
    assert 0.5 < math.exp(found.logprob) <= 1.0


def test_it_counts_the_tokens_of_a_text(config: Settings) -> None:
    key = {"Authorization": f"Bearer {config.llm_api_key}"}
    with httpx.Client(base_url=config.llm_url, headers=key, trust_env=False) as http:
        assert len(http.post("/tokenize", json={"content": "a latte"}).json()["tokens"]) == 3
        assert http.post("/tokenize", json={"content": 7}).status_code == 400


def test_a_prompt_beyond_its_context_is_refused_and_the_next_is_answered(
    config: Settings, parts: Container
) -> None:
    calls = Calls(config.llm_url, timeout_s=120, api_key=config.llm_api_key)
    with pytest.raises(EngineMisconfigured, match="refused"):
        calls.post(CHAT, {**HELLO, "messages": [{"role": "user", "content": "word " * 20_000}]})
    assert parts.decoder.decode(CartRequest("a cheeseburger", MENU)) is not None


def test_what_is_called_off_is_not_read_to_its_end(config: Settings) -> None:
    calls = Calls(config.llm_url, timeout_s=120, api_key=config.llm_api_key)
    long = {**HELLO, "messages": [{"role": "user", "content": "a word and another " * 700}]}
    short = {**HELLO, "messages": [{"role": "user", "content": "a word and another " * 30}]}
    for after_s in (1.0, 4.0, 16.0):  # to its end it takes a minute, and begins late on a busy machine
        off = threading.Event()
        threading.Timer(after_s, off.set).start()
        with pytest.raises(DecodeCancelled):
            calls.post(CHAT, long, called_off=off)
        used = calls.post(CHAT, short, timeout_s=40)["usage"]
        if used["prompt_tokens_details"]["cached_tokens"] > 100:
            return
    pytest.fail("it never began")


def test_in_a_container_it_takes_the_images_adapter_and_serves_where_it_is_told(tmp_path: Path) -> None:
    """As docker-compose.yml starts it, whose image can't be written to; here on another loopback address."""
    here = settings()
    try:
        model = resolve(here.llm_model, here.models_dir)
    except ModelError:
        pytest.skip("the default weights are not here: saycart models fetch")
    folder = adapters.made_for(here.llm_model)
    assert folder is not None
    elsewhere, port, models = "127.0.0.2", any_free(), tmp_path / "models"
    models.mkdir()
    (models / "adapters").write_text("root may write to any folder, and not to this")
    (models / here.llm_model).symlink_to(model)
    options = {
        "--host": elsewhere,
        "--port": port,
        "--model": models / here.llm_model,
        "--adapter": folder,
        "--context": 512,
    }
    argv = (str(part) for pair in options.items() for part in pair)
    supervisor, scratch = Supervisor(tmp_path), tmp_path / "tmp"
    scratch.mkdir()
    child = Child(
        "reader",
        (sys.executable, "-m", "services.decoding.server", *argv),
        tmp_path / "reader.log",
        ready=lambda: answers(f"http://{elsewhere}:{port}/health"),
        ready_timeout_s=MODEL_TIMEOUT_S,
        env={"TMPDIR": str(scratch)},
    )
    try:
        supervisor.start([child])
        (found,) = httpx.get(f"http://{elsewhere}:{port}/lora-adapters", trust_env=False).json()
        assert found["path"] == adapters.release(folder)
        assert [file.stem for file in scratch.rglob("*.gguf")] == [found["path"]]
        assert not answers(f"http://127.0.0.1:{port}/health")
    finally:
        supervisor.stop()
