"""The decoder: one client for any OpenAI-compatible server with guided decoding.

Orders are asked by `reading.py`, masked calls of any other kind by `completion.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Unpack

import httpx
import structlog

from infra.observability import measures, tracing
from schemas.errors import EngineMisconfigured, EngineUnavailable, TooMuchToRead
from schemas.menu import Menu
from schemas.writable import writable
from services.clients.masked.saycart_masked import AnswerTruncated, Completed, How, Mask, Message
from services.decoding import reading
from services.decoding.completion import Completions, our_errors
from services.decoding.menu_context import context_of
from services.decoding.ports import CartRequest, Reading

log = structlog.get_logger()

PROBE_WORD = "quixotry"
HEALTH_S = 2.0
# For the question whether there is a reader, on which an order waits: a server that decodes answers late.
READER_S = 10.0
_HELLO: list[Message] = [{"role": "user", "content": "Say: hello"}]


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
        self._timeout_s, self._order_tokens = timeout_s, order_tokens
        self._base = Completions(url, dialect=dialect, model=model, timeout_s=timeout_s, api_key=api_key)
        self._trained = self._base.with_adapter(adapter)
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._has_reader: bool | None = None if adapter else False

    @tracing.span("decode")
    @our_errors()
    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        """See `CartDecoder.decode`. A server that does not say whether it has the adapter is unavailable: no
        order goes to the base model because a server was busy."""
        model = self._model
        if self._has_reader is None:
            raise EngineUnavailable("The decode server did not say whether it has the trained adapter")
        for words in (asked.transcript, asked.second):
            self._check_budget(words, called_off)
        with measures.engine_took("decoder"):
            done = reading.read(
                asked,
                context_of(asked.menu),
                model,
                score=True,
                timeout_s=self._timeout_s,
                called_off=called_off,
                most=2 * self._order_tokens if model.adapter else 0,
            )
        _count("decoder", done)
        return done

    def _check_budget(self, words: str, called_off: threading.Event | None) -> None:
        """A model's time goes by tokens, and characters say little about these: 1,990 characters of many-byte
        signs are 2,000 tokens, a minute of a small machine; an order of sixty words has 79. They are counted
        only where it can matter: the tokenizers are byte-level, so a text never has more tokens than bytes.

        Raises:
            TooMuchToRead: the words don't fit.
            EngineError: as `Completions.count`, where the server had to be asked.
        """
        text, most = writable(words), self._order_tokens
        if not most or len(text.encode()) <= most:
            return
        if (count := self._base.count(text, called_off)) > most:
            raise TooMuchToRead(
                f"The words take {count} tokens of the model, and an order may take {most}",
                hint="Ask for a shorter order, or raise SAYCART_ORDER_TOKENS.",
            )

    def forget(self) -> None:
        """Ask again what the server has, since another may have taken its place."""
        self._has_reader = None if self._trained.adapter else False

    @tracing.span("masked")
    @our_errors()
    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """An answer of any kind under any mask; see `Completions.complete`."""
        done = self._base.complete(chat, mask, **how)
        _count("masked", done)
        return done

    @property
    def _model(self) -> Completions:
        """The trained model where the server has it; it is asked until it answers."""
        if self._has_reader is None:
            self._has_reader = self._look_for_reader()
        return self._trained if self._has_reader else self._base

    @our_errors()
    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`."""
        model = self._model
        chat = context_of(menu).messages(CartRequest("hello", menu), trained=bool(model.adapter))
        model.warm(chat, called_off)

    def health(self) -> str:
        """`ok`, or what its `/health` says instead."""
        try:
            answer = httpx.get(f"{self.url}/health", timeout=HEALTH_S, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            return "no answer"
        return "ok" if answer.is_success else f"answers {answer.status_code}"

    @our_errors()
    def probe(self, timeout_s: float | None = None) -> None:
        """Ask for a word that no free model would say, under a mask that allows nothing else.

        Raises:
            EngineMisconfigured: the server answered without the mask.
            EngineUnavailable: it did not answer, or not within `timeout_s` seconds.
        """
        mask = Mask(f'%llguidance {{}}\nstart: "{PROBE_WORD}"\n', "probe", 16)
        # With the reader's adapter: llama.cpp forgets a menu's prompt where a slot goes from one to none.
        model = self._model if self._base.dialect == "llama.cpp" else self._base
        try:
            text, _ = model.whole(_HELLO, mask, timeout_s=timeout_s)
        except AnswerTruncated:
            text = ""
        if text != PROBE_WORD:
            raise EngineMisconfigured(f"The decode server ignores the mask: it said {text[:40]!r}")

    @our_errors()
    def answer(self, lark: str, longest: int) -> str:
        """Return a text of this grammar, not held against it; for checks of an engine. Raises as `decode`."""
        return self._base.whole(_HELLO, Mask(lark, "check", longest))[0]

    def _look_for_reader(self) -> bool | None:
        """Whether the server has the adapter; None while it does not say."""
        vllm = self._base.dialect == "vllm"
        path = "/v1/models" if vllm else "/lora-adapters"
        try:
            answer = httpx.get(f"{self.url}{path}", headers=self._key, timeout=READER_S, trust_env=False)
            had = answer.raise_for_status().json()
            adapter = self._trained.adapter
            has_adapter = any(one.get("id") == adapter for one in had.get("data", ())) if vllm else bool(had)
        except httpx.HTTPStatusError as error:
            if error.response.is_server_error:  # it may be loading its model
                return None
            has_adapter = False
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return None
        if not has_adapter:
            log.warning("reader.absent", url=self.url, adapter=self._trained.adapter)
        return has_adapter


def _count(engine: str, done: Completed | Reading) -> None:
    measures.tokens(
        engine,
        prompt=done.prompt_tokens,
        cached=done.cached_tokens,
        completion=done.completion_tokens,
        overruled=done.overruled,
    )
