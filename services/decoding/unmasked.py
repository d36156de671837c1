"""A finished cart's scores without the mask: how likely was each field, where was the model overruled?

llama.cpp's server tells with each token that it writes how likely the model held it before the mask
(`logprobs`; after the mask only with `post_sampling_probs`). vLLM's own `logprobs` are taken after the mask,
where a forced token always has probability 1: there the very tokens of prompt and answer go in once more, as
a prompt (`prompt_logprobs`), where no mask acts.

Cost: with llama.cpp a look through the vocabulary at each token (about a tenth of its time with the 0.5B
model). With vLLM one prefill of prompt and cart, without the prefix cache, since each position's logits are
wanted; on CPU with the 0.5B model 1 GB of memory more for as long as it takes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from services.decoding.ports import Token

Span = tuple[int, int]
Key = TypeVar("Key")

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+')
_PARTIAL = "\ufffd"  # how a server shows a token that is a part of a character


def score_fields(dialect: str) -> dict[str, Any]:
    """Return the fields of a request that let its answer be scored."""
    return {"logprobs": True, "top_logprobs": 1} if dialect == "llama.cpp" else {"return_token_ids": True}


def written(document: dict[str, Any]) -> list[Token]:
    """The answer's tokens out of llama.cpp's answer. It tells the likeliest token alone, so rank 2 stands for
    any but the first. Raises KeyError, IndexError or TypeError for any other shape."""
    return [
        Token(one["token"], float(one["logprob"]), 1 if one["top_logprobs"][0]["id"] == one["id"] else 2)
        for one in document["choices"][0]["logprobs"]["content"]
    ]


def request(model: str, prompt: Sequence[int], answer: Sequence[int]) -> dict[str, Any]:
    """The body for vLLM's `/v1/completions`. One token has to be decoded; it is not read."""
    return {
        "model": model,
        "prompt": [*prompt, *answer],
        "max_tokens": 1,
        "temperature": 0,
        "prompt_logprobs": 0,  # of the given tokens alone; more would be alternatives to them
    }


def read(document: dict[str, Any], answer: Sequence[int]) -> list[Token]:
    """The answer's tokens out of vLLM's document. Raises as `written`."""
    scored = document["choices"][0]["prompt_logprobs"][-len(answer) :]
    scores = [at[str(token)] for at, token in zip(scored, answer, strict=True)]
    return [Token(one["decoded_token"] or "", float(one["logprob"]), int(one["rank"])) for one in scores]


def probabilities(text: str, answer: Iterable[Token], spans: Mapping[Span, Key]) -> dict[Key, float]:
    """How likely the model held each span of `text`: a token counts for the one in which it begins."""
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
    """Spans (begin, end) in `text` of each plain value, with its JSON pointer (`/lines/0/sku`)."""
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
    """Where a token's text stands at or after `at`. After parts of a character, which have no text of their
    own, it stands a little further on."""
    if not piece or _PARTIAL in piece:
        return at
    place = text.find(piece, at, at + len(piece) + 4)
    return place if place >= 0 else len(text)
