"""The trained adapter on llama.cpp's own server and the embedded engine: the carts are the same, and only
orders use it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.settings import Settings, settings
from infra.weights import adapters
from infra.weights.lock import ModelError
from infra.weights.models import resolve
from schemas.compare import canonical
from schemas.menu import Menu
from services.bootstrap import Container
from services.clients.masked.saycart_masked import values
from services.decoding.hosts.embedded import decode_server
from services.decoding.ports import CartRequest
from services.learning.training.notation import read_menu
from tests.engines.running import llama

# Small: a prompt of a hundred tokens takes one or two seconds.
MENU: Menu = read_menu(Path(__file__).with_name("burger-stand.menu"))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """llama.cpp's own server with the adapter, as an operator may have one."""
    here, key = settings(), "of-this-test-only"
    try:
        resolve(here.llm_model, here.models_dir)
    except ModelError:
        pytest.skip("the default weights are not here: saycart models fetch")
    adapter = adapters.adapter_for(here.llm_model)
    assert adapter is not None
    file, home = adapters.prepared(adapter, here.models_dir), tmp_path_factory.mktemp("llama")
    # With one slot, evicting the menu's prompt is visible at once.
    with llama(home, here.llm_model, slots=1, adapter=file, key=key) as engine:
        yield here.model_copy(update={"llm_api_key": key, "llm_url": engine.url})


@pytest.fixture(scope="module")
def own(config: Settings) -> Iterator[Settings]:
    """The embedded engine."""
    with decode_server(config.model_copy(update={"llm_url": ""})) as running:
        yield running


@pytest.mark.parametrize(
    "said",
    [
        "two cheeseburgers, one with no pickles",
        "I'll have the, uh, fries, no wait, make that onion rings",
    ],
)
def test_the_embedded_engine_agrees_with_llama_cpp(config: Settings, own: Settings, said: str) -> None:
    """llama.cpp's own server gets no prediction and decodes every token."""
    order = CartRequest(said, MENU)
    theirs, ours = Container(config).decoder.decode(order), Container(own).decoder.decode(order)
    assert (ours.text, ours.lines, ours.overruled) == (theirs.text, theirs.lines, theirs.overruled)
    assert ours.by.completion_tokens == theirs.by.completion_tokens
    assert ours.by.prompt_tokens == theirs.by.prompt_tokens
    # Other batch sizes, and another kind of attention, round differently (ADR 69).
    assert ours.logprob == pytest.approx(theirs.logprob, abs=0.25)
    for read in (ours, theirs):
        spans = sorted(values(read.text))
        assert [piece.text for piece in read.pieces] == [read.text[a:b].strip('"') for a, b in spans]
        # Punctuation and the end token are not pieces.
        summed = sum(math.log(piece.probability) for piece in read.pieces)
        assert read.logprob - 1e-6 <= summed < 0
        assert summed == pytest.approx(read.logprob, abs=0.1)


def test_the_cart_has_the_models_probability(config: Settings) -> None:
    found = Container(config).decoder.decode(CartRequest("two cheeseburgers, one with no pickles", MENU))
    cheeseburger = next(item.sku for item in MENU.items if item.name == "Cheeseburger")
    pickles = next((g.id, o.id) for g in MENU.option_groups for o in g.options if "ickle" in o.name)
    without = {"group": pickles[0], "id": pickles[1], "amount": "none", "count": 1}
    one = {"kind": "item", "sku": cheeseburger, "quantity": 1, "size": None}
    assert canonical(list(found.lines)) == canonical([one, {**one, "options": [without]}])
    assert found.overruled == 0
    assert -1.0 < found.logprob <= 0.0
    assert found.by.completion_tokens > 5


def test_items_that_are_not_on_the_menu_can_be_written(config: Settings) -> None:
    found = Container(config).decoder.decode(CartRequest("a bicycle please", MENU))
    assert [line["kind"] for line in found.lines] == ["not_on_menu"]


@pytest.mark.parametrize("server", ["config", "own"])
def test_other_requests_use_the_base_model(server: str, request: pytest.FixtureRequest) -> None:
    config: Settings = request.getfixturevalue(server)
    chat = [{"role": "user", "content": "Say the word: hello"}]
    body = {"messages": chat, "temperature": 0, "max_tokens": 8}
    body |= {"logprobs": True, "top_logprobs": 1}
    body |= {"cache_prompt": False} if server == "config" else {}  # else the batches differ

    def first(**more: object) -> float:
        url, key = f"{config.llm_url}/v1/chat/completions", {"Authorization": f"Bearer {config.llm_api_key}"}
        answer = httpx.post(url, json=body | more, headers=key, timeout=60).json()
        return float(answer["choices"][0]["logprobs"]["content"][0]["logprob"])

    plain, adapted = first(), first(lora=[{"id": 0, "scale": 1.0}])
    assert abs(plain - adapted) > 0.01
    assert first() == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("server", ["config", "own"])
def test_a_warmed_menu_is_cached_for_the_order(server: str, request: pytest.FixtureRequest) -> None:
    """A probe from another process does not evict it."""
    config: Settings = request.getfixturevalue(server)
    Container(config).warm_menu(MENU)
    found = Container(config).decoder.decode(CartRequest("a cheeseburger", MENU))
    assert found.by.cached_tokens > found.by.prompt_tokens - 20, "all but the transcript and the names"
