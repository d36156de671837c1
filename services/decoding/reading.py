"""One order asked of the trained reader: a cart under the menu's mask, and how sure the model is of it.

The adapter that was trained for the task (`services/training`) works on the decode server's own base model,
for these requests alone. Its answer is checked against the mask like any other, and scored without it: the
logarithmic probability of the whole answer, and how many of its tokens the mask chose against the model.

Cost, on 2 CPU threads with the 1.5B model and the menu cached: 30 ms a token of the question, 95 ms a token
of the answer that was not guessed, and some 35 ms for the mask of 60 items (docs/training.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.errors import DecodeInvalid, DecodeTruncated, EngineUnavailable, MenuBeingRead
from services.decoding import unmasked
from services.decoding.mask import Mask
from services.decoding.short_form import Line, Unreadable
from services.decoding.spellings import MenuContext, Spans, Spelling
from services.engines.ports import Reading

Document = dict[str, Any]
Post = Callable[[str, Document], Document]
ADAPTER = 0
"""Of the adapters that a llama.cpp server has loaded, ours is the first."""
MOST_TOKENS = 400
"""Of an answer, where no budget is set: twelve lines with a few options each, more than was ever seen."""
MENU_S = 2.0
"""Seconds after which the reading of a new menu makes room: one batch of 128 tokens on two cores."""
_CHAT = "/v1/chat/completions"


def present(dialect: str, adapter: str, get: Callable[[str], Any]) -> bool:
    """Whether a server has the adapter; `get` gives a path's document. Raises what `get` does."""
    if dialect == "llama.cpp":
        return bool(get("/lora-adapters"))
    return any(model.get("id") == adapter for model in get("/v1/models").get("data", ()))


def read(
    transcript: str,
    context: MenuContext,
    spelling: Spelling,
    *,
    dialect: str,
    model: str,
    adapter: str,
    post: Post,
    expected: Sequence[Line] = (),
    check: bool = False,
    most: int = MOST_TOKENS,
    in_gaps: bool = False,
) -> Reading:
    """The cart that the adapter reads out of `transcript`; `expected` are the lines of the likeliest one, if
    any. With `check` a smaller model's word that it comes to these too is enough, where the server has one.
    The answer may take `most` tokens. `in_gaps`: a menu that is new to a server is read in pieces.

    Raises:
        DecodeTruncated: the server stopped before the cart was whole.
        DecodeInvalid: the answer is outside the mask.
        EngineUnavailable: the answer has no shape that is known; beside what `post` raises.
        MenuBeingRead: there are pieces of the menu left to read.
    """
    started = time.perf_counter()
    mask = spelling.mask(transcript, context)
    try:
        asked = prompt(transcript, context, spelling, dialect=dialect, model=model, adapter=adapter)
        body = asked | masked(mask, dialect) | unmasked.asked(dialect) | {"max_tokens": most}
        if dialect == "llama.cpp":
            # OpenAI's field for an answer that is largely known; llama.cpp's own server passes over it.
            if expected:
                guess = spelling.write(expected, context)
                body |= {"prediction": {"type": "content", "content": guess}, "check": check}
            if in_gaps:
                body["menu_s"] = MENU_S
        found = _masked(post(_CHAT, body), mask, dialect, adapter, post)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineUnavailable(
            "The reader sent no answer that can be read", quoted=f"{error!r:.200}"
        ) from None
    try:
        cart = spelling.read(found.text, context)
    except Unreadable as error:
        raise DecodeInvalid("The reader's answer is no cart", quoted=str(error)) from None
    return Reading(
        lines=tuple(cart.lines),
        notes=cart.notes,
        grammar=mask.version,
        text=found.text,
        logprob=sum(token.logprob for token in found.tokens),
        overruled=sum(token.rank > 1 for token in found.tokens),
        engine=f"{dialect}:{found.checked_by or adapter}",
        prompt_tokens=int(found.used.get("prompt_tokens", 0)),
        completion_tokens=int(found.used.get("completion_tokens", 0)),
        cached_tokens=int((found.used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
        seconds=time.perf_counter() - started,
        pieces=_by_piece(found.text, spelling.spans(found.text), found.tokens),
    )


def _by_piece(text: str, spans: Spans, tokens: Sequence[unmasked.Token]) -> tuple[tuple[str, float], ...]:
    """The pieces of an answer, each with its probability, in their order."""
    scored = unmasked.score(text, tokens, {span: str(n) for n, span in enumerate(spans)}).probability
    return tuple((piece, scored.get(str(n), 1.0)) for n, piece in enumerate(spans.values()))


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    tokens: Sequence[unmasked.Token]
    used: Document
    checked_by: str = ""


def _masked(document: Document, mask: Mask, dialect: str, adapter: str, post: Post) -> _Answer:
    if reading := document.get(MenuBeingRead.code):
        raise MenuBeingRead("The menu is new to the reader", wait_s=float(reading["wait_s"]))
    choice = document["choices"][0]
    text, reason = choice["message"]["content"] or "", choice["finish_reason"]
    if reason != "stop":
        raise DecodeTruncated(f"The reader stopped early: finish_reason {reason!r}")
    if not mask.accepts(text):
        raise DecodeInvalid("The reader's answer is outside the mask", quoted=text[:200])
    checked_by = str(document.get("checked_by") or "")
    return _Answer(text, _tokens(document, dialect, adapter, post), document.get("usage") or {}, checked_by)


def masked(mask: Mask, dialect: str) -> Document:
    """The part of a request that holds its answer to a mask."""
    grammar: Document = {"grammar": mask.lark}
    return {"structured_outputs": grammar} if dialect == "vllm" else grammar


def prompt(
    transcript: str, context: MenuContext, spelling: Spelling, *, dialect: str, model: str, adapter: str
) -> Document:
    """A request without a mask, which is all that warming a server's cache takes."""
    chat = spelling.messages(transcript, context)
    shared: Document = {"messages": chat, "temperature": 0, "max_tokens": MOST_TOKENS}
    if dialect == "vllm":
        return shared | {"model": adapter}
    return shared | {"model": model, "cache_prompt": True} | adapted()


def adapted() -> Document:
    """What has the adapter at work in a request to llama.cpp."""
    return {"lora": [{"id": ADAPTER, "scale": 1.0}]}


def _tokens(document: Document, dialect: str, adapter: str, post: Post) -> list[unmasked.Token]:
    if dialect == "llama.cpp":
        return unmasked.written(document)
    prompt, made = document["prompt_token_ids"], document["choices"][0]["token_ids"]
    return unmasked.read(post("/v1/completions", unmasked.request(adapter, prompt, made)), made)
