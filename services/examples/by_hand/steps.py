"""From logits to a token: mask, temperature, top-p, draw. Plain numpy, no model.

Logits are an array of shape (vocabulary,), float64, in nats, known up to a constant that softmax takes out.
A token that must not be drawn has the logit −inf, and so the probability 0: every step below hands −inf on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.errors import EngineError

Logits = NDArray[np.float64]
Allowed = NDArray[np.bool_]

# The order that is right. `reshaped` takes any other, to show what it does.
ORDER = ("mask", "temperature", "top-p")


def softmax(logits: Logits) -> NDArray[np.float64]:
    """Probabilities, shape (vocabulary,), with sum 1.

    Raises:
        EngineError: every logit is −inf, so nothing is left to share the probability.
    """
    largest = logits.max()
    if largest == -np.inf:
        raise EngineError(
            "No token is left to draw from: each one was taken out by the mask or by top-p",
            hint="Mask first: top-p keeps the likeliest tokens, and the mask may allow none of those.",
        )
    powers = np.exp(logits - largest)  # without this shift, exp of a logit over 709 is infinite
    return np.asarray(powers / powers.sum())


def masked(logits: Logits, allowed: Allowed) -> Logits:
    """−inf for what is not allowed."""
    return np.where(allowed, logits, -np.inf)


def tempered(logits: Logits, temperature: float) -> Logits:
    """Divided by `temperature`: below 1 the likely gets likelier. 0 leaves the likeliest token alone."""
    if temperature > 0:
        return logits / temperature
    only = np.full_like(logits, -np.inf)
    only[logits.argmax()] = logits.max()
    return only


def top_p(logits: Logits, share: float) -> Logits:
    """The nucleus: the likeliest tokens, as few as have together at least `share` of the probability. The
    likeliest one always stays."""
    probabilities = softmax(logits)
    order = np.argsort(-probabilities, kind="stable")
    before = probabilities[order].cumsum() - probabilities[order]
    kept = np.zeros(len(logits), dtype=bool)
    kept[order[before < share]] = True
    return masked(logits, kept)


def penalised(logits: Logits, said: Sequence[int], penalty: float) -> Logits:
    """The repetition penalty as most servers have it: a positive logit of a token already said is divided by
    `penalty`, a negative one multiplied. −inf stays −inf."""
    reshaped = logits.copy()
    seen = list(set(said))
    reshaped[seen] = np.where(logits[seen] > 0, logits[seen] / penalty, logits[seen] * penalty)
    return reshaped


def reshaped(
    logits: Logits,
    allowed: Allowed,
    *,
    temperature: float = 1.0,
    share: float = 1.0,
    order: Sequence[str] = ORDER,
) -> Logits:
    """All steps of `order`, one after the other. Raises EngineError as `softmax`."""
    for step in order:
        if step == "mask":
            logits = masked(logits, allowed)
        elif step == "temperature":
            logits = tempered(logits, temperature)
        elif step == "top-p":
            logits = top_p(logits, share)
        else:
            raise ValueError(f"no such step: {step}")
    return logits


def draw(logits: Logits, rng: np.random.Generator) -> int:
    """One token, by its probability. Raises EngineError as `softmax`."""
    return int(rng.choice(len(logits), p=softmax(logits)))
