"""From recording to priced cart, five ways, on one engine, model and machine.

    old          Whisper, prompt, json.loads, validation, up to two repairs, look-up, price
    masked       the same prompt and schema, masked; the item is free text as before
    masked-item  the same with the item one of the menu's names
    ours-whole   the product's own steps, but every order is asked for, and decoded whole
    ours         the product's own steps; the zero-shot model
    ours-reader  the same with the learned reader, where the server has it

A row is what came back and what it took: everything that a report says is judged from it later.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zlib import crc32

from schemas.menu import Menu
from services.checks.facts import check_facts
from services.checks.price import price_cart
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import constraint
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.masks.mask import Mask, compiles
from services.engines.ports import Recording, Transcriber
from services.engines.reader.adapters import made_for
from services.evaluation.run import predict
from services.pipeline.ports import Tools
from services.reading.order import clean, read_order
from tests.bench.chat import Answer, Chat
from tests.bench.claim import form
from tests.bench.claim.ears import Stopwatch
from tests.bench.claim.judging import judge
from tests.bench.claim.spoken import Spoken
from tests.bench.repairing import repaired

MAX_TOKENS = 400
TIMEOUT_S = 300.0
OLD, OURS = ("old", "masked", "masked-item"), ("ours-whole", "ours", "ours-reader")
METHODS = (*OLD, *OURS)

Row = dict[str, Any]


def sampling(temperature: float, order: str) -> dict[str, Any]:
    """Fields of a request. A seed of each order's own, since with one for all, orders with like beginnings
    would fail alike; and no other cut than the temperature, whatever the server's defaults are."""
    if temperature == 0:
        return {"temperature": 0}
    cuts = {"top_p": 1.0, "top_k": 0, "min_p": 0.0}
    return {"temperature": temperature, "seed": crc32(order.encode()), **cuts}


class HeldCalls(Calls):
    """The product's calls at a temperature of ours, and every answer of the order in a thread's hands."""

    def __init__(self, url: str, temperature: float, key: str) -> None:
        super().__init__(url, timeout_s=TIMEOUT_S, api_key=key)
        self._temperature = temperature
        self._held = threading.local()

    def begin(self, order: str) -> None:
        self._held.sampling = sampling(self._temperature, order)
        self._held.answers = []

    @property
    def answers(self) -> list[Answer]:
        found: list[Answer] = self._held.answers
        return found

    def post(self, path: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
        """See `Calls.post`."""
        began = time.perf_counter()
        document = super().post(path, body | getattr(self._held, "sampling", {}), **more)
        if hasattr(self._held, "answers"):
            self._held.answers.append(Answer.of(document, time.perf_counter() - began))
        return document


@dataclass(frozen=True, slots=True)
class Bench:
    """What all pipelines share. `tools` are the product's, with recognisers that tell `watch` their time;
    `reader_url` is of the learned reader's own server, where it has one."""

    tools: Tools
    watch: Stopwatch
    url: str
    dialect: str
    model: str
    examples: int = form.EXAMPLES
    key: str = ""
    reader_url: str = ""

    def pipeline(self, method: str, temperature: float) -> Pipeline:
        """One of METHODS."""
        return _Old(self, method, temperature) if method in OLD else _Ours(self, method, temperature)

    def ears(self) -> Transcriber:
        return self.tools.transcriber()


class Pipeline(ABC):
    """A way from recording to cart. `temperature` is that of every answer."""

    def __init__(self, bench: Bench, method: str, temperature: float) -> None:
        self._bench, self._method, self._temperature = bench, method, temperature

    @abstractmethod
    def warm(self, menu: Menu) -> None:
        """Put the menu's part of the prompt into the server's cache."""

    @abstractmethod
    def _cart(self, one: Spoken, file: Path) -> Row: ...

    def row(self, one: Spoken, file: Path) -> Row:
        """One order; `file` is its recording as it is heard.

        Raises:
            RuntimeError: the server did not answer, so the row would say nothing.
        """
        watch = self._bench.watch
        watch.begin()
        began = time.perf_counter()
        found = self._cart(one, file)
        rest = time.perf_counter() - began - watch.spent
        return {
            "id": one.id,
            "menu": one.menu.id,
            "heard_s": round(watch.heard, 3),
            "rest_s": round(rest, 3),
            "load": round(os.getloadavg()[0], 1),
            **found,
        }


class _Old(Pipeline):
    """The old pipeline, and the same under a mask."""

    def __init__(self, bench: Bench, method: str, temperature: float) -> None:
        super().__init__(bench, method, temperature)
        self._chat = Chat(bench.url, bench.model, timeout_s=TIMEOUT_S, key=bench.key)

    def warm(self, menu: Menu) -> None:
        """See `Pipeline.warm`."""
        chat = form.messages("hello", menu, self._bench.examples)
        self._chat.ask(chat, **self._body(menu, ""), **{"max_tokens": 1})

    def _body(self, menu: Menu, order: str) -> dict[str, Any]:
        body = sampling(self._temperature, order)
        if self._method == "old":
            return body
        return body | constraint(self._bench.dialect, _grammar(menu, self._method == "masked-item"))

    def _cart(self, one: Spoken, file: Path) -> Row:
        menu = one.menu
        heard = self._bench.ears().transcribe(Recording(file, self._bench.tools.decode_audio), menu.language)
        chat = form.messages(clean(heard.text), menu, self._bench.examples)
        body = {"max_tokens": MAX_TOKENS, **self._body(menu, one.id)}
        if self._method == "old":
            answers = repaired(self._chat, chat, body, lambda answer: judge(answer, menu).problem or None)
        else:
            answers = [self._chat.ask(chat, **body)]
        if answers[-1].finish == "refused":
            raise RuntimeError(f"{one.id}: the server refused: {answers[-1].text}")
        draft = judge(answers[-1], menu).draft
        cart = price_cart(draft, menu, 1, heard, check_facts(draft, menu))
        return {"heard": heard.text, "answers": [asdict(a) for a in answers], "total": cart.total}


@cache
def _grammar_of(menu_id: str, lark: str) -> str:
    compiles(Mask(lark, f"claim {menu_id}", MAX_TOKENS))
    return lark


def _grammar(menu: Menu, items: bool) -> str:
    return _grammar_of(menu.id, form.grammar(menu, items=items))


class _Ours(Pipeline):
    """The product's own steps, as `saycart eval` takes them."""

    def __init__(self, bench: Bench, method: str, temperature: float) -> None:
        super().__init__(bench, method, temperature)
        adapter = made_for(bench.model) if method == "ours-reader" else None
        if method == "ours-reader" and adapter is None:
            raise SystemExit(f"No adapter was trained for {bench.model}; leave ours-reader out.")
        self._calls = list[HeldCalls]()
        self._decoder = self._asking(bench.url, bench.dialect, whole=method == "ours-whole")
        self._reader = self._decoder
        if adapter:
            own = bench.reader_url
            dialect = "llama.cpp" if own else bench.dialect
            self._reader = self._asking(own or bench.url, dialect, adapter=adapter.name)
            if not self._reader.reads:
                raise SystemExit(f"The server at {own or bench.url} has not loaded {adapter.name}.")
        self._tools = replace(
            bench.tools,
            decoder=lambda: self._decoder,
            readers=lambda: self._reader,
            skip_settled=method != "ours-whole",
            reader="all" if adapter else "off",
        )

    def _asking(self, url: str, dialect: str, **more: Any) -> OpenAIDecoder:
        calls = HeldCalls(url, self._temperature, self._bench.key)
        self._calls.append(calls)
        made: Callable[..., HeldCalls] = lambda *_, **__: calls  # noqa: E731
        with patch("services.engines.decoding.decoder.Calls", made):
            return OpenAIDecoder(
                url, dialect=dialect, model=self._bench.model, timeout_s=TIMEOUT_S,
                api_key=self._bench.key, **more,
            )  # fmt: skip

    def warm(self, menu: Menu) -> None:
        """See `Pipeline.warm`."""
        hello = read_order("hello", menu, 1)
        self._decoder.warm(hello)
        if self._reader is not self._decoder:
            self._reader.warm(hello)

    def _cart(self, one: Spoken, file: Path) -> Row:
        for calls in self._calls:
            calls.begin(one.id)
        found = predict({"id": one.id, "audio": file.name}, one.menu, self._tools, file.parent)
        if "engine_unavailable" in found["reasons"] or "engine_misconfigured" in found["reasons"]:
            raise RuntimeError(f"{one.id}: the decode server did not answer: {found.get('error')}")
        kept = ("cart", "decision", "reasons", "error")
        return {
            "heard": found["transcript"],
            "answers": [asdict(answer) for calls in self._calls for answer in calls.answers],
            **{name: found[name] for name in kept if name in found},
        }
