"""The decoder: one client for any OpenAI-compatible server with guided decoding.

Orders are asked by `reading.py`, masked calls of any other kind by `completion.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Unpack

import httpx
import structlog

from infra.caches import Alike
from infra.observability import measures, tracing
from schemas.errors import (
    DecodeTruncated,
    EngineMisconfigured,
    EngineUnavailable,
)
from schemas.menu import Menu
from schemas.menu_fingerprint import fingerprint, written_bytes
from services.decoding import reading
from services.decoding.calls import LEAST_S, Calls
from services.decoding.completion import CHAT, Completions, How
from services.decoding.mask import Mask
from services.decoding.menu_context import MenuContext
from services.decoding.order_budget import OrderBudget
from services.decoding.ports import CartRequest, Completed, Message, Reading
from services.decoding.reading import Asked

log = structlog.get_logger()

PROBE_WORD = "quixotry"
# Of contexts, which take about four times what a menu's document does.
KNOWN_BYTES = 64_000_000
HEALTH_S = 2.0
# For the question whether there is a reader, on which an order waits: a server that decodes answers late.
READER_S = 10.0
_WARMING = "warming"
_HELLO: list[Message] = [{"role": "user", "content": "Say: hello"}]

Document = dict[str, Any]


class OpenAIDecoder:
    """`CartDecoder` over HTTP, against one server.

    Args:
        url: base of the server, without `/v1`.
        dialect: `llama.cpp` or `vllm`.
        model: name to ask for; also stands for the tokenizer in the mask's version.
        timeout_s: of one whole decode.
        adapter: name of the trained adapter, where the server may have it.
        order_tokens: the most that a customer's words may take, and half of what the answer of a trained
            model may; 0: any number.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str,
        model: str,
        timeout_s: float = 120.0,
        api_key: str = "",
        adapter: str = "",
        order_tokens: int = 0,
    ) -> None:
        self.url = url.rstrip("/")
        self._dialect = dialect
        self._model = model
        self._timeout_s = timeout_s
        self._calls = Calls(url, timeout_s=timeout_s, api_key=api_key)
        self._completions = Completions(self._calls, dialect, model)
        self._budget = OrderBudget(self._calls, dialect=dialect, model=model, most=order_tokens)
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._adapter = adapter
        self._contexts = Alike(fingerprint, MenuContext, lambda menu: 4 * written_bytes(menu), KNOWN_BYTES)
        self._has_reader: bool | None = None

    @tracing.traced("decode")
    def decode(
        self,
        asked: CartRequest,
        called_off: threading.Event | None = None,
        *,
        in_gaps: bool = False,
    ) -> Reading:
        """See `CartDecoder.decode`. A server that does not say whether it has the adapter is unavailable: no
        order goes to the base model because a server was busy."""
        trained = self.reads
        if self._adapter and self._has_reader is None:
            raise EngineUnavailable("The decode server did not say whether it has the trained adapter")
        for words in (asked.transcript, asked.second):
            self._budget.check(words, called_off)
        until = time.monotonic() + self._timeout_s

        def post(path: str, body: Document) -> Document:
            left = max(until - time.monotonic(), LEAST_S)
            return self._calls.post(path, body, called_off=called_off, timeout_s=left)

        with measures.engine_took("decoder"):
            found = reading.read(
                asked,
                self._contexts.of(asked.menu),
                self._of_server(trained=trained),
                post=post,
                most=2 * self._budget.most if trained else 0,
                in_gaps=in_gaps,
            )
        measures.tokens(
            "decoder",
            prompt=found.prompt_tokens,
            cached=found.cached_tokens,
            completion=found.completion_tokens,
            overruled=found.overruled,
        )
        return found

    def _of_server(self, *, trained: bool) -> Asked:
        return Asked(self._dialect, self._model, self._adapter if trained else "")

    def forget(self) -> None:
        """Look anew for what the server has, since another may have taken its place."""
        self._has_reader = None

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """An answer of any kind under any mask; see `Completions.complete`."""
        return self._completions.complete(chat, mask, **how)

    @property
    def reads(self) -> bool:
        """Whether the server has the learned reader; asked until it answers, and no while it does not."""
        if self._has_reader is None and self._adapter:
            self._has_reader = self._look_for_reader()
        return bool(self._has_reader)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. Asks for one token, since prompts are only cached by use."""
        order, model = CartRequest("hello", menu), self._of_server(trained=self.reads)
        body = reading.prompt(order, self._contexts.of(menu), model) | {"max_tokens": 1}
        self._calls.post(CHAT, body, called_off=called_off, measured_as=_WARMING)

    def health(self) -> str:
        """`ok`, or what its `/health` says instead."""
        try:
            answer = httpx.get(f"{self.url}/health", timeout=HEALTH_S, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            return "no answer"
        return "ok" if answer.is_success else f"answers {answer.status_code}"

    def probe(self, timeout_s: float | None = None) -> None:
        """Ask for a word that no free model would say, under a mask that allows nothing else.

        Raises:
            EngineMisconfigured: the server answered without the mask.
            EngineUnavailable: it did not answer, or not within `timeout_s` seconds.
        """
        mask = Mask(f'%llguidance {{}}\nstart: "{PROBE_WORD}"\n', "probe", 16)
        # With the reader's adapter: llama.cpp forgets a menu's prompt where a slot goes from one to none.
        more = reading.adapted() if self._dialect == "llama.cpp" and self.reads else None
        try:
            text, _ = self._completions.whole(_HELLO, mask, more, timeout_s=timeout_s)
        except DecodeTruncated:
            text = ""
        if text != PROBE_WORD:
            raise EngineMisconfigured(f"The decode server ignores the mask: it said {text[:40]!r}")

    def answer(self, lark: str, max_tokens: int) -> str:
        """What the server says under a grammar that is no cart's, for checks of an engine.

        Raises: as `decode`.
        """
        mask = Mask(lark, "check", max_tokens - 8)
        return self._completions.whole(_HELLO, mask)[0]

    def _look_for_reader(self) -> bool | None:
        def get(path: str) -> Any:
            answer = httpx.get(f"{self.url}{path}", headers=self._key, timeout=READER_S, trust_env=False)
            return answer.raise_for_status().json()

        try:
            found = reading.present(self._dialect, self._adapter, get)
        except httpx.HTTPStatusError as error:
            if error.response.is_server_error:  # it may be loading its model
                return None
            found = False
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return None
        if not found:
            log.warning("reader.absent", url=self.url, adapter=self._adapter)
        return found
