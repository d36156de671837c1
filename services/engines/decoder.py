"""The decoder: one client for any OpenAI-compatible server with guided decoding.

vLLM (backend `guidance`) takes the grammar as `structured_outputs`, llama.cpp's server as `grammar`; the
rest of the request is the same. Both have a way to drop a constraint in silence (llama.cpp answers 200
with free text when a grammar does not compile; vLLM ignores unknown request fields), so each grammar is
compiled here first and each answer is checked against it.

Cost: on 2 CPU threads with the 1.5B model about 50 ms a token, 40 to 60 tokens a cart line.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
from llguidance import LLMatcher

from schemas.errors import DecodeInvalid, DecodeTruncated, EngineMisconfigured, EngineUnavailable
from schemas.evidence import Evidence
from services.engines.grammar import Mask, build_mask, mask_version
from services.engines.labels import Labels
from services.engines.ports import Decoded
from services.engines.prompt import messages

PROBE_WORD = "quixotry"
KNOWN_MENUS = 32


class OpenAIDecoder:
    """`CartDecoder` over HTTP.

    Args:
        url: base of the server, without `/v1`.
        dialect: `llama.cpp` or `vllm`.
        model: name to ask for; also stands for the tokenizer in the mask's version.
        timeout_s: of one whole decode.
    """

    def __init__(
        self, url: str, *, dialect: str, model: str, timeout_s: float = 120.0, api_key: str = ""
    ) -> None:
        if dialect not in ("llama.cpp", "vllm"):
            raise EngineMisconfigured(
                f"Unknown decoder dialect {dialect!r}", hint="Use `llama.cpp` or `vllm`."
            )
        self._dialect = dialect
        self._model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(
            base_url=url, timeout=httpx.Timeout(timeout_s, connect=5.0), headers=headers, trust_env=False
        )
        self._known: dict[tuple[str, int], tuple[Labels, str]] = {}

    def decode(self, evidence: Evidence) -> Decoded:
        """See `CartDecoder.decode`."""
        started = time.perf_counter()
        labels, version = self._menu(evidence)
        mask = build_mask(evidence, labels, version)
        text, usage = self._complete(messages(evidence, labels), mask)
        if not mask.accepts(text):
            raise DecodeInvalid(f"The server's answer is outside the mask: {text[:200]!r}")
        return Decoded(
            draft=labels.from_wire(text),
            engine=f"{self._dialect}:{self._model}",
            grammar=mask.version,
            prompt_tokens=int(usage.get("prompt_tokens", 0)),
            completion_tokens=int(usage.get("completion_tokens", 0)),
            seconds=time.perf_counter() - started,
        )

    def warm(self, evidence: Evidence) -> None:
        """See `CartDecoder.warm`. Asks for one token, since prompts are only cached by use."""
        labels, _ = self._menu(evidence)
        self._post({"messages": messages(evidence, labels), "max_tokens": 1, "temperature": 0})

    def probe(self) -> None:
        """Ask for a word that no free model would say, under a mask that allows nothing else.

        Raises:
            EngineMisconfigured: the server answered without the mask.
            EngineUnavailable: it did not answer.
        """
        mask = Mask(f'%llguidance {{}}\nstart: "{PROBE_WORD}"\n', "probe", 16)
        try:
            text, _ = self._complete([{"role": "user", "content": "Say: hello"}], mask)
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

    def _menu(self, evidence: Evidence) -> tuple[Labels, str]:
        key = (evidence.menu.id, evidence.menu_version)
        if key not in self._known or self._known[key][0].menu != evidence.menu:
            version = mask_version(evidence.menu, evidence.menu_version, self._model)
            while len(self._known) >= KNOWN_MENUS:
                self._known.pop(next(iter(self._known)))
            self._known[key] = (Labels(evidence.menu), version)
        return self._known[key]

    def _complete(self, chat: list[dict[str, str]], mask: Mask) -> tuple[str, dict[str, Any]]:
        problem = LLMatcher.validate_grammar(mask.lark)
        if problem:
            raise DecodeInvalid(f"The mask does not compile: {problem:.300}")
        body: dict[str, Any] = {"messages": chat, "max_tokens": mask.longest + 8, "temperature": 0}
        if self._dialect == "vllm":
            body["structured_outputs"] = {"grammar": mask.lark}
        else:
            body |= {"grammar": mask.lark, "cache_prompt": True}
        answer = self._post(body)
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"]["content"], choice["finish_reason"]
        except (KeyError, IndexError, TypeError):
            raise EngineUnavailable(f"The decode server sent no completion: {answer!r:.200}") from None
        if reason != "stop":
            raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
        return text or "", answer.get("usage") or {}

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._http.post("/v1/chat/completions", json={"model": self._model, **body})
        except httpx.HTTPError as error:
            raise EngineUnavailable(f"The decode server did not answer: {error!r:.200}") from error
        if answer.status_code >= 500 or answer.status_code in (408, 429):
            raise EngineUnavailable(f"The decode server answered {answer.status_code}: {answer.text:.200}")
        if answer.status_code >= 400:
            raise EngineMisconfigured(f"The decode server refused ({answer.status_code}): {answer.text:.200}")
        try:
            document: dict[str, Any] = answer.json()
        except ValueError as error:
            raise EngineUnavailable(f"The decode server sent no JSON: {answer.text[:200]!r}") from error
        return document
