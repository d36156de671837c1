"""An answer under a mask of which a prediction is known: what stands of it is checked, not written.

A token that is drawn alone takes a CPU as long as five that are read together. So the question and the cart
that the rules came to are read in one batch, which tells at each token what the model would have drawn there.
Up to the first that differs, the answer is the prediction; from there on it is drawn token by token. Either
way it is the greedy answer under the mask, with the probability that the model gives it without the mask.

The mask is llguidance's, on the model's own tokenizer, and asked only where the likeliest token may be
outside it: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md has what a grammar may say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher, LLTokenizer

from schemas.errors import DecodeCancelled, DecodeInvalid, EngineMisconfigured
from services.engines.reader_server.gaps import Gap, Gaps
from services.engines.reader_server.prefixes import Prefixes

Row = npt.NDArray[np.float32]
MENUS = 64
"""Grammars that stay compiled: each is one menu's, and takes some 35 ms."""


@dataclass(frozen=True, slots=True)
class Drawn:
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
    tokens: list[Drawn] = field(default_factory=list)
    accepted: int = 0
    ended: bool = False


class Answering:
    """Greedy answers, one at a time; `end` is the token that ends one."""

    def __init__(self, prefixes: Prefixes, tokenizer: LLTokenizer, end: int) -> None:
        self._prefixes = prefixes
        self._gaps = Gaps(prefixes)
        self._batch = prefixes.model.batch
        self._end = end
        self._compiled = lru_cache(maxsize=MENUS)(lambda grammar: LLMatcher(tokenizer, grammar))

    def answer(
        self,
        prompt: Sequence[int],
        shared: int,
        *,
        grammar: str = "",
        prediction: Sequence[int] = (),
        most: int,
        gone: Callable[[], bool] = lambda: False,
        check: bool = False,
        menu_s: float = 0.0,
    ) -> Answer:
        """The answer to `prompt`, of which the first `shared` tokens are the same for every order. With
        `check` no further than to the first token that is not the prediction's. With `menu_s` a menu that is
        new is read for about so many seconds at once.

        Raises:
            DecodeInvalid: the grammar does not compile.
            DecodeCancelled: `gone` said so; asked before each batch.
            EngineMisconfigured: there is no room for so many tokens.
            MenuBeingRead: the menu was new, and is not read to its end.
        """
        room = self._prefixes.model.context - len(prompt)
        if room < 1:
            raise EngineMisconfigured(f"{len(prompt)} tokens are more than the reader's context holds")
        matcher, most = self._matcher(grammar) if grammar else None, min(most, room)
        guess = list(prediction)[: min(most, self._batch - 1)]
        if matcher is not None:
            guess = guess[: matcher.validate_tokens(guess)]
        gap = self._gaps.of(prompt[:shared], menu_s)
        found = Answer(len(prompt), self._prefixes.take_up(prompt, shared))
        at = self._read_prompt(prompt, shared, found.cached, len(guess), gone, gap)
        rows = self._prefixes.read([*prompt[at:], *guess], len(guess) + 1)
        for place, row in enumerate(rows):
            if self._draw(row, matcher, found, most):
                return found
            if place == len(guess) or found.tokens[-1].token != guess[place]:
                self._prefixes.cut(len(prompt) + place)
                break
            found.accepted += 1
        while not check:
            _still_wanted(gone)
            (row,) = self._prefixes.read([found.tokens[-1].token], 1)
            if self._draw(row, matcher, found, most):
                break
        return found

    def _read_prompt(
        self,
        prompt: Sequence[int],
        shared: int,
        at: int,
        behind: int,
        gone: Callable[[], bool],
        gap: Gap,
    ) -> int:
        """Read on from `at`, up to what goes into one batch with the `behind` tokens after the prompt."""

        def read(upto: int) -> int:
            _still_wanted(gone)
            self._prefixes.read(prompt[at:upto])
            return upto

        if at <= shared:
            while at < shared:
                at = read(min(at + self._batch, shared))
                gap.check(left=shared - at)
            self._prefixes.keep()
        while len(prompt) - at + behind > self._batch:
            at = read(min(at + self._batch, len(prompt) - 1))
        _still_wanted(gone)
        return at

    def _draw(self, row: Row, matcher: LLMatcher | None, found: Answer, most: int) -> bool:
        """Put the next token on the answer; whether it was the last."""
        best = token = int(row.argmax())
        if matcher is not None and not _allowed(matcher, token, self._end):
            token = self._end if matcher.is_stopped() else _likeliest(row, matcher)
        top = float(row[best])
        whole = top + float(np.log(np.exp(row - top, dtype=np.float64).sum()))
        found.tokens.append(Drawn(token, float(row[token]) - whole, best, float(row[best]) - whole))
        if token == self._end:
            found.ended = True
        elif matcher is not None:
            matcher.consume_token(token)
        return found.ended or len(found.tokens) >= most

    def _matcher(self, grammar: str) -> LLMatcher:
        matcher = self._compiled(grammar)
        if problem := matcher.get_error():
            raise DecodeInvalid("The mask does not compile", quoted=problem[:300])
        matcher.reset()
        return matcher


def _still_wanted(gone: Callable[[], bool]) -> None:
    if gone():
        raise DecodeCancelled("Nobody waits for this answer any more")


def _allowed(matcher: LLMatcher, token: int, end: int) -> bool:
    return matcher.is_accepting() if token == end else bool(matcher.validate_tokens([token]))


def _likeliest(row: Row, matcher: LLMatcher) -> int:
    """The likeliest token of those that the mask allows; an end too, where it does."""
    bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    allowed = np.unpackbits(bits, bitorder="little")[: row.size].astype(bool)
    return int(np.where(allowed, row, -np.inf).argmax())
