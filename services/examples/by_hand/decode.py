"""The decode loop: logits, mask, temperature, top-p, draw, one token, again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from services.examples.by_hand.masks import LogitMask
from services.examples.by_hand.steps import ORDER, Logits, draw, reshaped, softmax
from services.examples.by_hand.tokens import Tokens


class Model(Protocol):
    """A language model as this loop sees it: it says how likely each next token is, and decides nothing."""

    def logits(self, ids: Sequence[int]) -> Logits:
        """Shape (vocabulary,), for the token after `ids`."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One token of the answer. `favourite` is the model's own first choice, with its probability before any
    mask; `legal` is the probability that the model gave to all allowed tokens together."""

    taken: int
    favourite: int
    favourite_probability: float
    favourite_allowed: bool
    legal: float
    choices: int


def decode(
    model: Model,
    prompt: Sequence[int],
    mask: LogitMask,
    tokens: Tokens,
    *,
    temperature: float = 0.0,
    share: float = 1.0,
    order: Sequence[str] = ORDER,
    seed: int = 0,
    limit: int = 60,
) -> Iterator[Step]:
    """Steps until the end token was taken, the last of them with it, or until `limit` tokens: an answer cut
    off so is not whole, and `mask.may_end()` may tell.

    Raises:
        EngineError: nothing is left to draw from, which can't be in the right `order`.
    """
    rng = np.random.default_rng(seed)
    ids = list(prompt)
    for _ in range(limit):
        logits = model.logits(ids)
        allowed = mask.allowed()
        taken = draw(reshaped(logits, allowed, temperature=temperature, share=share, order=order), rng)
        probabilities = softmax(logits)
        favourite = int(logits.argmax())
        yield Step(
            taken,
            favourite,
            float(probabilities[favourite]),
            bool(allowed[favourite]),
            float(probabilities[allowed].sum()),
            int(allowed.sum()),
        )
        mask.advance(taken)
        if taken == tokens.end:
            return
        ids.append(taken)
