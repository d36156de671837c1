"""An answer under a mask, greedy or drawn; what stands of a prediction is checked, not written.

A token that is drawn alone takes a CPU as long as five that are read together. So the question and the guess
that came with it are read in one batch, which tells at each token what the model would have drawn there.
Up to the first that differs, the answer is the prediction. From there on each token is read with a guess of
what follows: what the mask forces, or what followed the same tokens before, in the prediction, the answer or
the prompt, which has the menu's names. Either way it is the answer that the model gives under the mask, with
its probability without the mask.

The mask is llguidance's, on the model's own tokenizer, and asked only where the likeliest token may be
outside it: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md has what a grammar may say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from schemas.errors import DecodeInvalid, EngineMisconfigured, MenuBeingRead
from services.decoding.server.model import Row
from services.decoding.server.prefixes import AGAIN_S, Prefixes, common_length

MENUS = 64
"""Grammars that stay compiled, for masked tasks above all: an order's own words are part of its grammar."""
AHEAD = 4
"""Tokens of a guess: with the last one no more than a CPU reads in the time of one."""
SAME = 3
"""Tokens that a guess looks for, where they stood before."""
STEP = 32
"""Tokens of a new menu that are read at once where other orders may come, which wait for so many: a third of
the time of 128, at a quarter more a token."""


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """One token of an answer: its log probability, and the likeliest one there with its own."""

    token: int
    logprob: float
    best: int
    best_logprob: float


@dataclass(slots=True)
class Answer:
    """`tokens` with the one that ends it, if it ended: else it is cut off at the most that was asked for. Of
    the question's `prompt` tokens `cached` were read before; of a prediction's, `accepted` stood."""

    prompt: int
    cached: int
    tokens: list[AnswerToken] = field(default_factory=list)
    accepted: int = 0
    ended: bool = False

    @property
    def written(self) -> list[int]:
        return [one.token for one in self.tokens]


class Answering:
    """Answers, one at a time; `end` is the token that ends one. `written` counts the tokens of all."""

    def __init__(self, prefixes: Prefixes, tokenizer: LLTokenizer, end: int) -> None:
        self._prefixes = prefixes
        self._batch = prefixes.model.batch
        self._end = end
        self.written = 0
        self._compiled = lru_cache(maxsize=MENUS)(lambda grammar: LLMatcher(tokenizer, grammar))

    def answer(
        self,
        prompt: Sequence[int],
        shared: int,
        *,
        grammar: str = "",
        prediction: Sequence[int] = (),
        most: int,
        cancelled: Callable[[], bool] = lambda: False,
        menu_s: float = 0.0,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Answer:
        """Answer `prompt`, of which the first `shared` tokens are the menu's: the same for every order. A new
        menu takes half a minute and more: with `menu_s` it is read for so many seconds, other orders come
        between, and the reading goes on when the menu is asked for again.

        Raises:
            DecodeInvalid: the grammar does not compile, or llguidance gave it up on the way.
            DecodeCancelled: `cancelled` returned True; called ten times a second.
            EngineMisconfigured: there is no room for so many tokens.
            MenuBeingRead: `menu_s` were over before the menu was read, or another new menu comes first.
        """
        self._prefixes.model.cancelled = cancelled
        room = self._prefixes.model.context - len(prompt)
        if room < 1:
            raise EngineMisconfigured(f"{len(prompt)} tokens are more than the reader's context holds")
        until = self._read_until(prompt[:shared], menu_s)
        matcher, most = self._matcher(grammar) if grammar else None, min(most, room)
        guess = _within(matcher, prediction[: min(most, self._batch - 1)])
        answer = Answer(len(prompt), self._prefixes.take_up(prompt, shared))
        at = self._read_prompt(prompt, shared, answer.cached, len(guess), until)
        chosen = self._drawing(temperature, seed) if temperature else self._greedy
        more = self._read_on(prompt[at:], guess, chosen, matcher, answer, most)
        answer.accepted, known = common_length(answer.written, guess), [*prompt, *prediction]
        while more:
            written = answer.written
            guess = _ahead([*known, *written], matcher)[: most - len(written) - 1]
            more = self._read_on(written[-1:], guess, chosen, matcher, answer, most)
        return answer

    def _read_until(self, menu: Sequence[int], menu_s: float) -> float:
        """Return until when a menu may be read at once, by the monotonic clock."""
        if not menu_s or self._prefixes.knows(menu):
            return math.inf
        if not self._prefixes.has_room(menu):
            raise MenuBeingRead("Another new menu is being read", wait_s=AGAIN_S)
        return time.monotonic() + menu_s

    def _read_on(
        self,
        before: Sequence[int],
        guess: Sequence[int],
        chosen: Callable[[Row, LLMatcher | None], int],
        matcher: LLMatcher | None,
        answer: Answer,
        most: int,
    ) -> bool:
        """Read `before` and a `guess` of what follows, and put on the answer what the model has there, up to
        the first token that differs from the guess. Return whether there is more to come."""
        rows = self._prefixes.read([*before, *guess], len(guess) + 1)
        for place, row in enumerate(rows):
            if self._put(row, chosen(row, matcher), matcher, answer, most):
                return False
            if place == len(guess) or answer.tokens[-1].token != guess[place]:
                self._prefixes.cut(answer.prompt + len(answer.tokens) - 1)
                break
        return True

    def _read_prompt(self, prompt: Sequence[int], shared: int, at: int, behind: int, until: float) -> int:
        """Read on from `at`, up to what goes into one batch with the `behind` tokens after the prompt; of a
        menu `until` that time alone."""

        def read(upto: int) -> int:
            self._prefixes.read(prompt[at:upto])
            return upto

        if at <= shared:
            step = self._batch if until == math.inf else min(self._batch, STEP)
            while at < shared:
                at = read(min(at + step, shared))
                if at < shared and time.monotonic() >= until:
                    raise MenuBeingRead("A part of the menu was read", wait_s=0.0)
            self._prefixes.keep()
        while len(prompt) - at + behind > self._batch:
            at = read(min(at + self._batch, len(prompt) - 1))
        return at

    def _put(self, row: Row, token: int, matcher: LLMatcher | None, answer: Answer, most: int) -> bool:
        """Put the next token on the answer; whether it was the last."""
        best = int(row.argmax())
        top = float(row[best])
        whole = top + float(np.log(np.exp(row - top, dtype=np.float64).sum()))
        answer.tokens.append(AnswerToken(token, float(row[token]) - whole, best, top - whole))
        self.written += 1
        if token == self._end:
            answer.ended = True
        elif matcher is not None and not matcher.consume_token(token):
            raise DecodeInvalid("The mask was given up", quoted=matcher.get_error()[:300])
        return answer.ended or len(answer.tokens) >= most

    def _greedy(self, row: Row, matcher: LLMatcher | None) -> int:
        """The likeliest token that the mask allows, which is asked only where the likeliest of all may not be
        one."""
        token = int(row.argmax())
        if matcher is None or _allowed(matcher, token, self._end):
            return token
        return self._end if matcher.is_stopped() else int(_masked(row, matcher).argmax())

    def _drawing(self, temperature: float, seed: int | None) -> Callable[[Row, LLMatcher | None], int]:
        """What draws tokens by their probabilities under the mask; the same ones for the same seed."""
        dice = np.random.default_rng(seed)

        def choose(row: Row, matcher: LLMatcher | None) -> int:
            if matcher is not None and matcher.is_stopped():
                return self._end
            scores = row if matcher is None else _masked(row, matcher)
            weights = np.exp((scores - scores.max()) / temperature, dtype=np.float64)
            return int(dice.choice(row.size, p=weights / weights.sum()))

        return choose

    def _matcher(self, grammar: str) -> LLMatcher:
        matcher = self._compiled(grammar)
        if problem := matcher.get_error():
            raise DecodeInvalid("The mask does not compile", quoted=problem[:300])
        matcher.reset()
        return matcher


def _ahead(tokens: Sequence[int], matcher: LLMatcher | None) -> list[int]:
    """What is likely to follow `tokens`: what the mask forces, else what followed the same tokens before."""
    forced = matcher.compute_ff_tokens() if matcher is not None else []
    return _within(matcher, (forced or _followed(tokens))[:AHEAD])


def _within(matcher: LLMatcher | None, guess: Sequence[int]) -> list[int]:
    """Return the part of a guess that the mask allows."""
    return list(guess if matcher is None else guess[: matcher.validate_tokens(list(guess))])


def _followed(tokens: Sequence[int]) -> list[int]:
    """What followed the last few of `tokens` where they stood before: the most of them, the latest time."""
    for count in range(SAME, 0, -1):
        last = tokens[-count:]
        for at in range(len(tokens) - count - 1, -1, -1):
            if tokens[at] == last[0] and tokens[at : at + count] == last:
                return [*tokens[at + count : at + count + AHEAD]]
    return []


def _allowed(matcher: LLMatcher, token: int, end: int) -> bool:
    return matcher.is_accepting() if token == end else bool(matcher.validate_tokens([token]))


def _masked(row: Row, matcher: LLMatcher) -> Row:
    """The logits of those tokens that the mask allows; an end too, where it does."""
    bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    allowed = np.unpackbits(bits, bitorder="little")[: row.size].astype(bool)
    return np.where(allowed, row, np.float32(-np.inf))
