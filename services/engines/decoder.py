"""The decoder: one client for any OpenAI-compatible server with guided decoding.

vLLM (backend `guidance`) takes the grammar as `structured_outputs`, llama.cpp's server as `grammar`; the
rest of the request is the same. Both have a way to drop a constraint in silence (llama.cpp answers 200
with free text when a grammar does not compile; vLLM ignores unknown request fields), so each grammar is
compiled here first and each answer is checked against it.

What the mask forces is not decoded (`blanks.py`): it goes in as the beginning of the server's answer, which
both take as a last message of the assistant, and a request is made for each choice. Scores need every token,
so with `score` the whole text is decoded in one request.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token, 40 to 60 tokens a cart line decoded whole.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import structlog
from llguidance import LLMatcher

from infra import measures, tracing
from infra.caches import Alike
from schemas.errors import (
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.menu_fingerprint import fingerprint, written_bytes
from services.engines import reading, unmasked
from services.engines.blanks import Answer, TooOpen
from services.engines.calls import Calls
from services.engines.grammar import Mask, build_form, build_mask, mask_version
from services.engines.labels import Labels
from services.engines.ports import Decoded, Reading, Scored
from services.engines.prompt import Message, messages
from services.engines.reading import Sheet

log = structlog.get_logger()

PROBE_WORD = "quixotry"
# Of names and of sheets each, which take about twice and four times what a menu's document does.
KNOWN_BYTES = 64_000_000
HEALTH_S = 2.0
# For the question whether there is a reader, on which an order waits: a server that decodes answers late.
READER_S = 10.0
LEAST_S = 0.01
_CHAT = "/v1/chat/completions"
_WARMING = "warming"

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
    ) -> None:
        if dialect not in ("llama.cpp", "vllm"):
            raise EngineMisconfigured(
                f"Unknown decoder dialect {dialect!r}", hint="Use `llama.cpp` or `vllm`."
            )
        self.url = url.rstrip("/")
        self._dialect = dialect
        self._model = model
        self._score = score
        self._whole = whole or score
        self._timeout_s = timeout_s
        self._calls = Calls(url, timeout_s=timeout_s, api_key=api_key)
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._adapter = adapter
        self._labels = Alike(fingerprint, Labels, lambda menu: 2 * written_bytes(menu), KNOWN_BYTES)
        self._sheets = Alike(fingerprint, _sheet, lambda menu: 4 * written_bytes(menu), KNOWN_BYTES)
        self._has_reader: bool | None = None

    @tracing.traced("decode")
    def decode(
        self, evidence: Evidence, called_off: threading.Event | None = None, *, whole: bool = False
    ) -> Decoded:
        """See `CartDecoder.decode`."""
        with measures.engine_took("decoder"):
            return self._decode(evidence, called_off, whole)

    def _decode(self, evidence: Evidence, called_off: threading.Event | None, whole: bool) -> Decoded:
        started = time.perf_counter()
        labels, version = self._menu(evidence)
        with measures.mask_took("build"):
            chat, mask = messages(evidence, labels), build_mask(evidence, labels, version)
        if whole or self._whole:
            text, answers = self._complete(chat, mask, called_off)
        else:
            with measures.mask_took("build"):
                form = build_form(evidence, labels, version)
            text, answers = self._filled_in(chat, mask, form, called_off)
        with measures.mask_took("check"):
            accepted = mask.accepts(text)
        if not accepted:
            raise DecodeInvalid("The server's answer is outside the mask", quoted=text[:200])
        used = [answer.get("usage") or {} for answer in answers]
        prompt = used[0] if used else {}
        decoded = Decoded(
            draft=labels.from_wire(text),
            engine=f"{self._dialect}:{self._model}" if answers else "none: settled",
            grammar=mask.version,
            prompt_tokens=int(prompt.get("prompt_tokens", 0)),
            completion_tokens=sum(int(usage.get("completion_tokens", 0)) for usage in used),
            cached_tokens=int((prompt.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
            requests=len(answers),
            scored=self._scored(text, answers[0], called_off) if self._score else None,
            seconds=time.perf_counter() - started,
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
    def read(self, evidence: Evidence, called_off: threading.Event | None = None) -> Reading | None:
        """See `CartDecoder.read`. A server that does not say whether it has the reader is unavailable: no
        order goes without its second reading because a server was busy."""
        if not self.reads:
            if self._adapter and self._has_reader is None:
                raise EngineUnavailable("The decode server did not say whether it has the learned reader")
            return None
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
            self._calls.post(_CHAT, asked | {"max_tokens": 1}, called_off=called_off, measured_as=_WARMING)
            return
        labels, _ = self._menu(evidence)
        body = {"messages": messages(evidence, labels), "max_tokens": 1, "temperature": 0}
        self._calls.post(_CHAT, {"model": self._model, **body}, called_off=called_off, measured_as=_WARMING)

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
        try:
            text, _ = self._complete([{"role": "user", "content": "Say: hello"}], mask, timeout_s=timeout_s)
        except DecodeTruncated:
            text = ""
        if text != PROBE_WORD:
            raise EngineMisconfigured(f"The decode server ignores the mask: it said {text[:40]!r}")

    def answer(self, lark: str, max_tokens: int) -> str:
        """What the server says under a grammar that is no cart's, for checks of an engine.

        Raises: as `decode`.
        """
        mask = Mask(lark, "check", max_tokens - 8)
        return self._complete([{"role": "user", "content": "Say: hello"}], mask)[0]

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
                text, last = self._complete(chat, mask, called_off, timeout_s=left)
                return text, answers + last
            beginning = answer.beginning
            body = self._request(chat, offered, answer.tokens, beginning)
            answers.append(self._calls.post(_CHAT, body, called_off=called_off, timeout_s=left))
            said, reason = _said(answers[-1])
            if reason not in ("stop", "length"):
                raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
            if self._dialect == "llama.cpp":  # it tells the beginning again
                if not said.startswith(beginning):
                    raise DecodeInvalid("The server did not go on with the answer", quoted=said[:200])
                said = said[len(beginning) :]
            answer.take(said)
        return answer.text, answers

    def _complete(
        self,
        chat: list[Message],
        mask: Mask,
        called_off: threading.Event | None = None,
        *,
        timeout_s: float | None = None,
    ) -> tuple[str, list[Document]]:
        """The text of an answer decoded whole, and the one document that it came in."""
        compiles(mask)
        body = self._request(chat, mask, mask.longest + 8)
        if self._score:
            body |= unmasked.asked(self._dialect)
        answer = self._calls.post(_CHAT, body, called_off=called_off, timeout_s=timeout_s)
        text, reason = _said(answer)
        if reason != "stop":
            raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
        return text, [answer]

    def _request(self, chat: list[Message], mask: Mask, tokens: int, beginning: str = "") -> Document:
        body: Document = {"model": self._model, "messages": chat, "temperature": 0, "max_tokens": tokens}
        vllm = self._dialect == "vllm"
        if beginning:
            body["messages"] = [*chat, {"role": "assistant", "content": beginning}]
            if vllm:
                body |= {"add_generation_prompt": False, "continue_final_message": True}
        masked = {"structured_outputs": {"grammar": mask.lark}}
        return body | (masked if vllm else {"grammar": mask.lark, "cache_prompt": True})

    def _scored(self, text: str, answer: Document, called_off: threading.Event | None) -> Scored | None:
        """The cart's scores; None where scoring fails, since the cart is good without them."""
        try:
            if self._dialect == "llama.cpp":
                return unmasked.score(text, unmasked.written(answer))
            prompt, made = answer["prompt_token_ids"], answer["choices"][0]["token_ids"]
            body = unmasked.request(self._model, prompt, made)
            document = self._calls.post("/v1/completions", body, called_off=called_off)
            return unmasked.score(text, unmasked.read(document, made))
        except DecodeCancelled:
            raise
        except (EngineError, KeyError, IndexError, TypeError, ValueError) as error:
            log.warning("decode.not_scored", error=type(error).__name__)
            return None


def compiles(mask: Mask) -> None:
    """Raises `DecodeInvalid` where a server would drop the mask in silence."""
    with measures.mask_took("compile"):
        problem = LLMatcher.validate_grammar(mask.lark)
    if problem:
        raise DecodeInvalid("The mask does not compile", quoted=problem[:300])


def _sheet(menu: Menu) -> Sheet:
    sheet = Sheet(menu)
    compiles(sheet.mask)
    return sheet


def _said(document: Document) -> tuple[str, str]:
    try:
        choice = document["choices"][0]
        return choice["message"]["content"] or "", choice["finish_reason"]
    except (KeyError, IndexError, TypeError):
        raise EngineUnavailable("The decode server sent no completion", quoted=f"{document!r:.200}") from None
