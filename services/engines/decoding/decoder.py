"""The decoder: one client for any OpenAI-compatible server with guided decoding, by `completion.py`.

What the mask forces is not decoded (`blanks.py`): it goes in as the beginning of the server's answer, which
both take as a last message of the assistant, and a request is made for each choice. Scores need every token,
so with `score` the whole text is decoded in one request.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token, 40 to 60 tokens a cart line decoded whole.
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
from schemas.cart import CartDraft
from schemas.errors import (
    DecodeInvalid,
    DecodeTruncated,
    EngineMisconfigured,
    EngineUnavailable,
)
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.menu_fingerprint import fingerprint, written_bytes
from services.engines.decoding.blanks import Answer, TooOpen
from services.engines.decoding.calls import LEAST_S, Calls
from services.engines.decoding.completion import CHAT, Completions, How, said, told
from services.engines.decoding.order_budget import OrderBudget
from services.engines.decoding.prompt import messages
from services.engines.masks.grammar import build_form, build_mask, mask_version
from services.engines.masks.labels import Labels
from services.engines.masks.mask import Mask, compiles
from services.engines.ports import Completed, Decoded, Message, Reading
from services.engines.reader import reading
from services.engines.reader.reading import Sheet

log = structlog.get_logger()

PROBE_WORD = "quixotry"
# Of names and of sheets each, which take about twice and four times what a menu's document does.
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
        score: have finished carts scored without the mask.
        whole: decode forced text too, as with `score`; for comparisons.
        adapter: name of the learned reader, where the server may have it.
        check: let a smaller model check settled carts, where the server has one.
        order_tokens: the most that a customer's words may take, and the learned reader's answer; 0: any
            number.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str,
        model: str,
        timeout_s: float = 120.0,
        api_key: str = "",
        score: bool = False,
        whole: bool = False,
        adapter: str = "",
        check: bool = False,
        order_tokens: int = 0,
    ) -> None:
        self.url = url.rstrip("/")
        self._dialect = dialect
        self._model = model
        self._score = score
        self._whole = whole or score
        self._timeout_s = timeout_s
        self._calls = Calls(url, timeout_s=timeout_s, api_key=api_key)
        self._completions = Completions(self._calls, dialect, model)
        self._budget = OrderBudget(self._calls, dialect=dialect, model=model, most=order_tokens)
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._adapter = adapter
        self._check = check and dialect == "llama.cpp"
        self._labels = Alike(fingerprint, Labels, lambda menu: 2 * written_bytes(menu), KNOWN_BYTES)
        self._sheets = Alike(fingerprint, _sheet, lambda menu: 4 * written_bytes(menu), KNOWN_BYTES)
        self._has_reader: bool | None = None

    @tracing.traced("decode")
    def decode(
        self, evidence: Evidence, called_off: threading.Event | None = None, *, whole: bool = False
    ) -> Decoded:
        """See `CartDecoder.decode`."""
        self._budget.check(evidence.transcript, called_off)
        with measures.engine_took("decoder"):
            return self._decode(evidence, called_off, whole)

    def _decode(self, evidence: Evidence, called_off: threading.Event | None, whole: bool) -> Decoded:
        started = time.perf_counter()
        labels, version = self._menu(evidence)
        with measures.mask_took("build"):
            chat, mask = messages(evidence, labels), build_mask(evidence, labels, version)
        if whole or self._whole:
            text, document = self._completions.whole(chat, mask, score=self._score, called_off=called_off)
            answers = [document]
        else:
            with measures.mask_took("build"):
                form = build_form(evidence, labels, version)
            text, answers = self._filled_in(chat, mask, form, called_off)
        with measures.mask_took("check"):
            accepted = mask.accepts(text)
        if not accepted:
            raise DecodeInvalid("The server's answer is outside the mask", quoted=text[:200])
        decoded = Decoded(
            draft=labels.from_wire(text),
            engine=self._completions.engine if answers else "none: settled",
            grammar=mask.version,
            requests=len(answers),
            scored=self._completions.scored(text, answers[0], called_off) if self._score else None,
            seconds=time.perf_counter() - started,
            **told(*answers),
        )
        measures.tokens(
            "decoder",
            prompt=decoded.prompt_tokens,
            cached=decoded.cached_tokens,
            completion=decoded.completion_tokens,
            overruled=sum(decoded.scored.overruled.values()) if decoded.scored else None,
        )
        return decoded

    @tracing.traced("reader")
    def read(
        self,
        evidence: Evidence,
        called_off: threading.Event | None = None,
        expected: CartDraft | None = None,
        *,
        settled: bool = False,
        in_gaps: bool = False,
    ) -> Reading | None:
        """See `CartDecoder.read`. A server that does not say whether it has the reader is unavailable: no
        order goes without its second reading because a server was busy."""
        if not self.reads:
            if self._adapter and self._has_reader is None:
                raise EngineUnavailable("The decode server did not say whether it has the learned reader")
            return None
        self._budget.check(evidence.transcript, called_off)
        until = time.monotonic() + self._timeout_s

        def post(path: str, body: Document) -> Document:
            left = max(until - time.monotonic(), LEAST_S)
            return self._calls.post(path, body, called_off=called_off, timeout_s=left)

        sheet = self._sheets.of(evidence.menu)
        with measures.engine_took("reader"):
            found = reading.read(
                evidence.transcript,
                sheet,
                dialect=self._dialect,
                model=self._model,
                adapter=self._adapter,
                post=post,
                expected=[line.model_dump(mode="json") for line in expected.lines] if expected else (),
                check=settled and self._check,
                most=self._budget.most or reading.MOST_TOKENS,
                in_gaps=in_gaps,
            )
        measures.tokens(
            "reader",
            prompt=found.prompt_tokens,
            cached=found.cached_tokens,
            completion=found.completion_tokens,
            overruled=found.overruled,
        )
        return found

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

    def warm(self, evidence: Evidence, called_off: threading.Event | None = None) -> None:
        """See `CartDecoder.warm`. Asks for one token, since prompts are only cached by use."""
        if self.reads:
            sheet = self._sheets.of(evidence.menu)
            asked = reading.prompt(
                "hello", sheet, dialect=self._dialect, model=self._model, adapter=self._adapter
            )
            # With a check, the smaller model's cache too.
            asked |= {"max_tokens": 1} | ({"check": True} if self._check else {})
            self._calls.post(CHAT, asked, called_off=called_off, measured_as=_WARMING)
            return
        labels, _ = self._menu(evidence)
        body = {"messages": messages(evidence, labels), "max_tokens": 1, "temperature": 0}
        self._calls.post(CHAT, {"model": self._model, **body}, called_off=called_off, measured_as=_WARMING)

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

    def _menu(self, evidence: Evidence) -> tuple[Labels, str]:
        version = mask_version(evidence.menu, evidence.menu_version, self._model)
        return self._labels.of(evidence.menu), version

    def _filled_in(
        self, chat: list[Message], mask: Mask, form: Mask, called_off: threading.Event | None
    ) -> tuple[str, list[Document]]:
        """The text of an answer of which only the choices in `form` are decoded, and all answers to it."""
        compiles(mask)
        answers: list[Document] = []
        answer, until = Answer(form), time.monotonic() + self._timeout_s
        while not answer.whole:
            left = max(until - time.monotonic(), LEAST_S)
            try:
                offered = answer.offered()
            except TooOpen:
                text, last = self._completions.whole(chat, mask, called_off=called_off, timeout_s=left)
                return text, [*answers, last]
            beginning = answer.beginning
            body = self._completions.request(chat, offered, answer.tokens, beginning)
            answers.append(self._calls.post(CHAT, body, called_off=called_off, timeout_s=left))
            text, reason = said(answers[-1])
            if reason not in ("stop", "length"):
                raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
            if self._dialect == "llama.cpp":  # it tells the beginning again
                if not text.startswith(beginning):
                    raise DecodeInvalid("The server did not go on with the answer", quoted=text[:200])
                text = text[len(beginning) :]
            answer.take(text)
        return answer.text, answers


def _sheet(menu: Menu) -> Sheet:
    sheet = Sheet(menu)
    compiles(sheet.mask)
    return sheet
