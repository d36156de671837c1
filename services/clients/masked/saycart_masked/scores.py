"""The probability of each field of an answer, without the mask.

llama.cpp's server returns each token's probability before the mask (`logprobs`). vLLM's `logprobs` are
computed after the mask, where a forced token always has probability 1: so prompt and answer are sent again as
a prompt (`prompt_logprobs`), to which no mask applies.

Cost: with llama.cpp about a tenth of a token's time for a 0.5B model; with vLLM a prefill of prompt and
answer, without the prefix cache.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Span = tuple[int, int]
Key = TypeVar("Key")

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+')
_PARTIAL = "\ufffd"  # in the text of a token that is only part of a character


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer, with its log probability and its rank (1 is the likeliest) without the mask."""

    text: str
    logprob: float
    rank: int


def score_fields(dialect: str) -> dict[str, Any]:
    """Return the fields of a request that its scores need."""
    return {"logprobs": True, "top_logprobs": 1} if dialect == "llama.cpp" else {"return_token_ids": True}


def llama_tokens(answer: dict[str, Any]) -> list[Token]:
    """Return the tokens of llama.cpp's answer. It names only the likeliest token, so rank 2 means any other.
    Raises KeyError, IndexError or TypeError for an unexpected document."""
    return [
        Token(one["token"], float(one["logprob"]), 1 if one["top_logprobs"][0]["id"] == one["id"] else 2)
        for one in answer["choices"][0]["logprobs"]["content"]
    ]


def vllm_request(model: str, prompt: Sequence[int], answer: Sequence[int]) -> dict[str, Any]:
    """Return the body for vLLM's `/v1/completions`, which must decode at least one token."""
    return {
        "model": model,
        "prompt": [*prompt, *answer],
        "max_tokens": 1,
        "temperature": 0,
        "prompt_logprobs": 0,  # of the given tokens only, without alternatives
    }


def vllm_tokens(scored: dict[str, Any], answer: Sequence[int]) -> list[Token]:
    """Return the answer's tokens from vLLM's scores. Raises as `llama_tokens`."""
    logprobs = scored["choices"][0]["prompt_logprobs"][-len(answer) :]
    tokens = [by_id[str(token)] for by_id, token in zip(logprobs, answer, strict=True)]
    return [Token(one["decoded_token"] or "", float(one["logprob"]), int(one["rank"])) for one in tokens]


def probabilities(text: str, answer: Iterable[Token], spans: Mapping[Span, Key]) -> dict[Key, float]:
    """Return the probability of each span of `text`; a token counts for the span in which it starts."""
    ends = sorted(spans)
    logprobs: defaultdict[Key, float] = defaultdict(float)
    at = 0
    for token in answer:
        start = _place(text, token.text, at)
        span = next(((begin, end) for begin, end in ends if begin <= start < end), None)
        if span is not None:
            logprobs[spans[span]] += token.logprob
        at = start + (0 if _PARTIAL in token.text else len(token.text))
    return {key: math.exp(total) for key, total in logprobs.items()}


def values(text: str) -> dict[Span, str]:
    """Return the span (begin, end) in `text` of each plain value, with its JSON pointer (`/lines/0/sku`)."""
    spans: dict[Span, str] = {}
    path: list[str | int] = []
    for part in _PARTS.finditer(text):
        sign = part[0]
        if sign in "{[":
            path.append("" if sign == "{" else 0)
        elif sign in "}]":
            path.pop()
        elif sign == "," and path and isinstance(path[-1], int):
            path[-1] += 1
        elif text[part.end() : part.end() + 1] == ":":
            path[-1] = sign.strip('"')
        elif sign not in ":,":
            spans[part.span()] = "".join(f"/{step}" for step in path)
    return spans


def _place(text: str, piece: str, at: int) -> int:
    """Return the position of a token's text at or shortly after `at`: tokens that are part of a character
    have no text of their own."""
    if not piece or _PARTIAL in piece:
        return at
    place = text.find(piece, at, at + len(piece) + 4)
    return place if place >= 0 else len(text)
