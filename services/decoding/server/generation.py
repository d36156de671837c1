"""Decode one answer under a mask, verifying predicted tokens in batches (speculative decoding).

On a CPU one token alone takes as long as five in a batch. So the prompt and a prediction of the answer are
evaluated together, which gives the model's choice at each position; the answer follows the prediction up to
the first difference. From there on each token is evaluated with a guess of the next ones: what the mask
forces, or what followed the same tokens earlier, in the prediction, the answer or the prompt, which has the
menu's names. The answer is always the model's own under the mask, scored without it.

The mask is llguidance's, over the model's own tokenizer, and is consulted only where it may reject the most
likely token: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md describes its grammars.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from schemas.errors import DecodeInvalid, EngineMisconfigured, MenuBeingRead
from services.decoding.server.model import Row
from services.decoding.server.prefix_cache import RETRY_S, PrefixCache, common_length
from services.decoding.server.request import ChatRequest

MAX_GUESS = 4
"""Tokens of a guess: with the current one, as many as a CPU evaluates in the time of one."""
MAX_MATCH = 3
"""Length of the longest n-gram that a guess is looked up by."""
CHUNK = 32
"""Tokens of a new menu per batch when other orders may interrupt: they wait a third as long as for 128, which
cost a quarter less per token."""


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token of the answer with its log probability, and the most likely one in its place."""

    token: int
    logprob: float
    best: int


@dataclass(slots=True)
class Answer:
    """The tokens of an answer; if it `ended` before the limit, the last one is the end token.

    `cached` of the `prompt` tokens were not evaluated again, and `accepted` predicted tokens were right."""

    prompt: int
    cached: int
    limit: int
    tokens: list[ScoredToken] = field(default_factory=list)
    accepted: int = 0
    ended: bool = False

    @property
    def ids(self) -> list[int]:
        return [scored.token for scored in self.tokens]


class Generator:
    """Decodes one answer at a time, up to the token `end`."""

    def __init__(self, cache: PrefixCache, tokenizer: LLTokenizer, end: int) -> None:
        self._cache = cache
        self._batch = cache.model.batch
        self._end = end
        self._tokenizer = tokenizer

    def generate(
        self,
        prompt: Sequence[int],
        shared: int,
        prediction: Sequence[int],
        request: ChatRequest,
        cancelled: Callable[[], bool],
    ) -> Answer:
        """Answer the `prompt` of a request, whose first `shared` tokens are the menu's. A new menu takes half
        a minute and more; with `menu_s` it is evaluated for that many seconds per call, so that others come
        in between.

        Raises:
            DecodeInvalid: the grammar does not compile, or llguidance gave up.
            DecodeCancelled: `cancelled` returned True; it is called ten times per second.
            EngineMisconfigured: the context is too small.
            MenuBeingRead: the menu was not finished within `menu_s`, or another new menu comes first.
        """
        self._cache.model.cancelled = cancelled
        capacity = self._cache.model.context - len(prompt)
        if capacity < 1:
            raise EngineMisconfigured(f"A prompt of {len(prompt)} tokens exceeds the engine's context")
        deadline = self._prefill_deadline(prompt[:shared], request.menu_s)
        matcher = self._matcher(request.grammar) if request.grammar else None
        limit = min(request.max_tokens, capacity)
        guess = _allowed_part(matcher, prediction[: min(limit, self._batch - 1)])
        answer = Answer(len(prompt), self._cache.resume(prompt, shared), limit)
        start = self._prefill(prompt, shared, answer.cached, len(guess), deadline)
        choose = self._sampler(request.temperature, request.seed) if request.temperature else self._greedy
        more = self._verify(prompt[start:], guess, choose, matcher, answer)
        answer.accepted, known = common_length(answer.ids, guess), [*prompt, *prediction]
        while more:
            ids = answer.ids
            guess = _guess([*known, *ids], matcher)[: limit - len(ids) - 1]
            more = self._verify(ids[-1:], guess, choose, matcher, answer)
        return answer

    def _prefill_deadline(self, menu: Sequence[int], menu_s: float) -> float:
        """Return the monotonic time until which a menu may be evaluated in this call."""
        if not menu_s or self._cache.has(menu):
            return math.inf
        if not self._cache.may_prefill(menu):
            raise MenuBeingRead("Another new menu is being read", wait_s=RETRY_S)
        return time.monotonic() + menu_s

    def _verify(
        self,
        tokens: Sequence[int],
        guess: Sequence[int],
        choose: Callable[[Row, LLMatcher | None], int],
        matcher: LLMatcher | None,
        answer: Answer,
    ) -> bool:
        """Evaluate `tokens` and a `guess` of the next ones in a batch, and append the model's choices to the
        answer, up to the first that differs from the guess. Return True if the answer goes on."""
        rows = self._cache.evaluate([*tokens, *guess], len(guess) + 1)
        for place, row in enumerate(rows):
            if self._append(row, choose(row, matcher), matcher, answer):
                return False
            if place == len(guess) or answer.tokens[-1].token != guess[place]:
                self._cache.truncate(answer.prompt + len(answer.tokens) - 1)
                break
        return True

    def _prefill(
        self, prompt: Sequence[int], shared: int, start: int, guess_length: int, deadline: float
    ) -> int:
        """Evaluate the prompt from `start`, except for what fits into one batch with the guess; return where
        the rest begins. Evaluate the menu only until `deadline`."""

        def evaluate(end: int) -> int:
            self._cache.evaluate(prompt[start:end])
            return end

        if start <= shared:
            chunk = self._batch if deadline == math.inf else min(self._batch, CHUNK)
            while start < shared:
                start = evaluate(min(start + chunk, shared))
                if start < shared and time.monotonic() >= deadline:
                    raise MenuBeingRead("One chunk of the menu was read", wait_s=0.0)
            self._cache.store()
        while len(prompt) - start + guess_length > self._batch:
            start = evaluate(min(start + self._batch, len(prompt) - 1))
        return start

    def _append(self, row: Row, token: int, matcher: LLMatcher | None, answer: Answer) -> bool:
        """Append a token to the answer; return True if it is the last."""
        best = int(row.argmax())
        top = float(row[best])
        log_sum = top + float(np.log(np.exp(row - top, dtype=np.float64).sum()))
        answer.tokens.append(ScoredToken(token, float(row[token]) - log_sum, best))
        if token == self._end:
            answer.ended = True
        elif matcher is not None and not matcher.consume_token(token):
            raise DecodeInvalid("llguidance gave up on the mask", quoted=matcher.get_error()[:300])
        return answer.ended or len(answer.tokens) >= answer.limit

    def _greedy(self, row: Row, matcher: LLMatcher | None) -> int:
        """Return the most likely token that the mask allows."""
        token = int(row.argmax())
        if matcher is None or _is_allowed(matcher, token, self._end):
            return token
        return self._end if matcher.is_stopped() else int(_masked(row, matcher).argmax())

    def _sampler(self, temperature: float, seed: int | None) -> Callable[[Row, LLMatcher | None], int]:
        """Return a function that samples tokens under the mask, reproducibly by `seed`."""
        generator = np.random.default_rng(seed)

        def choose(row: Row, matcher: LLMatcher | None) -> int:
            if matcher is not None and matcher.is_stopped():
                return self._end
            scores = row if matcher is None else _masked(row, matcher)
            weights = np.exp((scores - scores.max()) / temperature, dtype=np.float64)
            return int(generator.choice(row.size, p=weights / weights.sum()))

        return choose

    def _matcher(self, grammar: str) -> LLMatcher:
        matcher = LLMatcher(self._tokenizer, grammar)
        if problem := matcher.get_error():
            raise DecodeInvalid("The mask does not compile", quoted=problem[:300])
        return matcher


def _guess(tokens: Sequence[int], matcher: LLMatcher | None) -> list[int]:
    """Return a guess of the next tokens: those that the mask forces, or the continuation of an n-gram."""
    forced = matcher.compute_ff_tokens() if matcher is not None else []
    return _allowed_part(matcher, (forced or _ngram_continuation(tokens))[:MAX_GUESS])


def _allowed_part(matcher: LLMatcher | None, guess: Sequence[int]) -> list[int]:
    """Return the beginning of a guess that the mask allows."""
    return list(guess if matcher is None else guess[: matcher.validate_tokens(list(guess))])


def _ngram_continuation(tokens: Sequence[int]) -> list[int]:
    """Return what followed the last tokens when they occurred before: the longest n-gram, most recently."""
    for length in range(MAX_MATCH, 0, -1):
        ngram = tokens[-length:]
        for at in range(len(tokens) - length - 1, -1, -1):
            if tokens[at] == ngram[0] and tokens[at : at + length] == ngram:
                return [*tokens[at + length : at + length + MAX_GUESS]]
    return []


def _is_allowed(matcher: LLMatcher, token: int, end: int) -> bool:
    return matcher.is_accepting() if token == end else bool(matcher.validate_tokens([token]))


def _masked(row: Row, matcher: LLMatcher) -> Row:
    """Return the logits with those of disallowed tokens at minus infinity."""
    bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    allowed = np.unpackbits(bits, bitorder="little")[: row.size].astype(bool)
    return np.where(allowed, row, np.float32(-np.inf))
