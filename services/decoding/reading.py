"""One order asked of a language model: a cart under the menu's mask, and how sure the model is of it.

Where a server has the adapter that was trained for the task (`services/learning/training`), it works on the
server's base model for these requests alone; else the base model is asked, with a prompt that explains the
format. The answer is checked against the mask like any other, and scored without it: the logarithmic
probability of the whole answer, and how many of its tokens the mask chose against the model.

Cost, on 2 CPU threads with the 1.5B model and the menu cached: 30 ms a token of the question, 95 ms a token
of the answer that was not guessed, and some 35 ms for the mask of 60 items (docs/training.md).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from infra.observability import measures
from schemas.errors import DecodeInvalid, EngineUnavailable
from services.decoding import unmasked, wire
from services.decoding.calls import LEAST_S
from services.decoding.completion import Completions, Document, usage
from services.decoding.guess import guess
from services.decoding.menu_context import MenuContext
from services.decoding.menu_names import Unreadable
from services.decoding.ports import CartRequest, Reading
from services.decoding.wire_mask import wire_mask
from services.retrieval.retrieval import Retrieval

MOST_TOKENS = 400
"""Of an answer, where no budget is set: twelve lines with a few options each, more than was ever seen."""
MENU_S = 2.0
"""Seconds after which the reading of a new menu makes room: one batch of 128 tokens on two cores."""


def read(
    order: CartRequest,
    context: MenuContext,
    model: Completions,
    *,
    timeout_s: float,
    called_off: threading.Event | None = None,
    most: int = 0,
    in_gaps: bool = False,
) -> Reading:
    """Return the cart that the model writes for an order. The answer may take `most` tokens; 0: the usual
    number. `in_gaps`: a menu that is new to a server is read in pieces. `timeout_s` is of all requests.

    Raises:
        DecodeTruncated: the server stopped before the cart was whole.
        DecodeInvalid: the mask does not compile, or the answer is outside it.
        EngineUnavailable: the answer has no shape that is known; besides what `Calls.post` raises.
        MenuBeingRead: there are pieces of the menu left to read.
    """
    started = time.perf_counter()
    with measures.mask_took("build"):
        mask = wire_mask(context.names, order.transcript)
    more: Document = {"max_tokens": most or MOST_TOKENS}
    found = context.retrieve(order.transcript)
    if model.dialect == "llama.cpp" and model.adapter:
        more |= _guessed(found, context) | ({"menu_s": MENU_S} if in_gaps else {})
    chat = context.messages(order, trained=bool(model.adapter), found=found)
    text, document = model.whole(chat, mask, more, score=True, called_off=called_off, timeout_s=timeout_s)
    mask.check(text)
    left = max(LEAST_S, timeout_s - (time.perf_counter() - started))
    try:
        tokens, used = model.tokens(document, called_off, left), usage(document)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineUnavailable(
            "The decode server sent no answer that can be read", quoted=f"{error!r:.200}"
        ) from None
    cart = _cart(text, context)
    return Reading(
        lines=tuple(cart.lines),
        notes=cart.notes,
        grammar=mask.version,
        trained=bool(model.adapter),
        text=text,
        logprob=sum(token.logprob for token in tokens),
        overruled=sum(token.rank > 1 for token in tokens),
        engine=model.engine,
        seconds=time.perf_counter() - started,
        pieces=_by_piece(text, tokens),
        **used,
    )


def _cart(text: str, context: MenuContext) -> wire.Told:
    try:
        return wire.read_cart(text, context.names)
    except Unreadable as error:
        raise DecodeInvalid("The server's answer is no cart", quoted=str(error)) from None


def _guessed(found: Retrieval, context: MenuContext) -> Document:
    """OpenAI's field for an answer that is largely known; llama.cpp's own server ignores it."""
    lines = guess(found, context.menu)
    return {"prediction": {"type": "content", "content": wire.write(lines, context.names)}}


def _by_piece(text: str, tokens: Sequence[unmasked.Token]) -> tuple[tuple[str, float], ...]:
    """The numbers, names and words of an answer in their order, each with its probability."""
    spans = sorted(unmasked.values(text))
    scored = unmasked.score(text, tokens, {span: str(n) for n, span in enumerate(spans)}).probability
    return tuple(
        (text[begin:end].strip('"'), scored.get(str(n), 1.0)) for n, (begin, end) in enumerate(spans)
    )
