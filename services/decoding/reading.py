"""One order asked of a language model: a cart under the menu's mask, and how sure the model is of it.

Where a server has the adapter that was trained for the task (`services/learning/training`), it works on the
server's base model for these requests alone; else the base model is asked, with a prompt that explains the
format. The answer is checked against the mask like any other, and scored without it: the logarithmic
probability of the whole answer, and how many of its tokens the mask chose against the model.

Cost, on 2 CPU threads with the 1.5B model and the menu cached: 30 ms a token of the question, 95 ms a token
of the answer that was not guessed, and some 35 ms for the mask of 60 items (docs/training.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.observability import measures
from schemas.errors import DecodeInvalid, DecodeTruncated, EngineUnavailable, MenuBeingRead
from services.decoding import unmasked, wire
from services.decoding.completion import constraint, said
from services.decoding.guess import guess
from services.decoding.mask import Mask, compiles
from services.decoding.menu_context import MenuContext
from services.decoding.menu_names import Unreadable
from services.decoding.ports import CartRequest, Reading
from services.decoding.wire_mask import wire_mask

Document = dict[str, Any]
Post = Callable[[str, Document], Document]
ADAPTER = 0
"""Of the adapters that a llama.cpp server has loaded, ours is the first."""
MOST_TOKENS = 400
"""Of an answer, where no budget is set: twelve lines with a few options each, more than was ever seen."""
MENU_S = 2.0
"""Seconds after which the reading of a new menu makes room: one batch of 128 tokens on two cores."""
_CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which model of a server of which dialect; `adapter` is empty where it has no trained one."""

    dialect: str
    model: str
    adapter: str = ""

    @property
    def name(self) -> str:
        """What answers."""
        return self.adapter or self.model


def present(dialect: str, adapter: str, get: Callable[[str], Any]) -> bool:
    """Whether a server has the adapter; `get` gives a path's document. Raises what `get` does."""
    if dialect == "llama.cpp":
        return bool(get("/lora-adapters"))
    return any(model.get("id") == adapter for model in get("/v1/models").get("data", ()))


def read(
    order: CartRequest,
    context: MenuContext,
    asked: Asked,
    *,
    post: Post,
    most: int = 0,
    in_gaps: bool = False,
) -> Reading:
    """The cart that the model reads out of an order. The answer may take `most` tokens; 0: the usual number.
    `in_gaps`: a menu that is new to a server is read in pieces.

    Raises:
        DecodeTruncated: the server stopped before the cart was whole.
        DecodeInvalid: the mask does not compile, or the answer is outside it.
        EngineUnavailable: the answer has no shape that is known; beside what `post` raises.
        MenuBeingRead: there are pieces of the menu left to read.
    """
    started = time.perf_counter()
    with measures.mask_took("build"):
        mask = wire_mask(context.names, order.transcript)
    compiles(mask)
    body = request(order, context, asked, mask, most)
    if asked.dialect == "llama.cpp" and asked.adapter:
        body |= _guessed(order, context) | ({"menu_s": MENU_S} if in_gaps else {})
    try:
        found = _masked(post(_CHAT, body), mask, asked, post)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineUnavailable(
            "The decode server sent no answer that can be read", quoted=f"{error!r:.200}"
        ) from None
    return _reading(found, context, asked, mask.version, time.perf_counter() - started)


def _guessed(order: CartRequest, context: MenuContext) -> Document:
    """OpenAI's field for an answer that is largely known; llama.cpp's own server ignores it."""
    lines = guess(context.retrieve(order.transcript), context.menu)
    return {"prediction": {"type": "content", "content": wire.write(lines, context.names)}}


def _reading(found: _Answer, context: MenuContext, asked: Asked, grammar: str, seconds: float) -> Reading:
    """What an answer says, and its scores. Raises DecodeInvalid."""
    try:
        cart = wire.read_cart(found.text, context.names)
    except Unreadable as error:
        raise DecodeInvalid("The server's answer is no cart", quoted=str(error)) from None
    return Reading(
        lines=tuple(cart.lines),
        notes=cart.notes,
        grammar=grammar,
        trained=bool(asked.adapter),
        text=found.text,
        logprob=sum(token.logprob for token in found.tokens),
        overruled=sum(token.rank > 1 for token in found.tokens),
        engine=f"{asked.dialect}:{asked.name}",
        prompt_tokens=int(found.used.get("prompt_tokens", 0)),
        completion_tokens=int(found.used.get("completion_tokens", 0)),
        cached_tokens=int((found.used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
        seconds=seconds,
        pieces=_by_piece(found.text, found.tokens),
    )


def _by_piece(text: str, tokens: Sequence[unmasked.Token]) -> tuple[tuple[str, float], ...]:
    """The numbers, names and words of an answer in their order, each with its probability."""
    spans = sorted(unmasked.values(text))
    scored = unmasked.score(text, tokens, {span: str(n) for n, span in enumerate(spans)}).probability
    return tuple(
        (text[begin:end].strip('"'), scored.get(str(n), 1.0)) for n, (begin, end) in enumerate(spans)
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    tokens: Sequence[unmasked.Token]
    used: Document


def _masked(document: Document, mask: Mask, asked: Asked, post: Post) -> _Answer:
    if reading := document.get(MenuBeingRead.code):
        raise MenuBeingRead("The menu is new to the reader", wait_s=float(reading["wait_s"]))
    text, reason = said(document)
    if reason != "stop":
        raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
    with measures.mask_took("check"):
        accepted = mask.accepts(text)
    if not accepted:
        raise DecodeInvalid("The server's answer is outside the mask", quoted=text[:200])
    return _Answer(text, _tokens(document, asked, post), document.get("usage") or {})


def request(order: CartRequest, context: MenuContext, asked: Asked, mask: Mask, most: int = 0) -> Document:
    """A request for a cart under a mask, with what it takes to score it."""
    body = prompt(order, context, asked) | constraint(asked.dialect, mask.lark)
    return body | unmasked.asked(asked.dialect) | {"max_tokens": most or MOST_TOKENS}


def prompt(order: CartRequest, context: MenuContext, asked: Asked) -> Document:
    """A request without a mask, which is all that warming a server's cache takes."""
    chat = context.messages(order, trained=bool(asked.adapter))
    shared: Document = {"messages": chat, "temperature": 0, "max_tokens": MOST_TOKENS, "model": asked.name}
    if asked.dialect == "vllm":
        return shared
    return shared | {"model": asked.model, "cache_prompt": True} | (adapted() if asked.adapter else {})


def adapted() -> Document:
    """What has the adapter at work in a request to llama.cpp."""
    return {"lora": [{"id": ADAPTER, "scale": 1.0}]}


def _tokens(document: Document, asked: Asked, post: Post) -> list[unmasked.Token]:
    if asked.dialect == "llama.cpp":
        return unmasked.written(document)
    prompt, made = document["prompt_token_ids"], document["choices"][0]["token_ids"]
    return unmasked.read(post("/v1/completions", unmasked.request(asked.name, prompt, made)), made)
