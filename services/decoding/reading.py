"""One order asked of a language model: a cart under the menu's mask, and how sure the model is of it.

Where a server has the adapter that was trained for the task (`services/learning/training`), it works on the
server's base model for these requests alone; else the base model is asked, with a prompt that explains the
format. The answer is checked against the mask like any other, and scored without it: the logarithmic
probability of the whole answer, and how many of its tokens the mask chose against the model.

Cost, on 2 CPU threads with the 1.5B model and the menu cached: 30 ms a token of the question, 95 ms a token
of the answer that was not guessed, and some 35 ms for the mask of 60 items (docs/training.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from schemas.decision import UnsurePiece
from schemas.errors import DecodeInvalid, EngineUnavailable
from services.clients.masked.saycart_masked import How, Token, probabilities, values
from services.decoding import wire
from services.decoding.completion import Completions, counted
from services.decoding.guess import guess
from services.decoding.menu_names import Unreadable
from services.decoding.ports import CartRequest, Reading
from services.decoding.prompt import MenuContext
from services.decoding.wire_mask import wire_mask

MOST_TOKENS = 400
"""Of an answer, where no budget is set: twelve lines with a few options each, more than was ever seen."""
MENU_S = 0.3
"""Seconds after which the reading of a new menu makes room for other orders: a batch or two on two cores."""


def read(
    order: CartRequest, context: MenuContext, model: Completions, *, most: int, **how: Unpack[How]
) -> Reading:
    """Return the cart that the model writes for an order. The answer may take `most` tokens; 0: the usual
    number.

    Raises as `Completions.complete`.
    """
    mask = wire_mask(context.names, order.transcript)
    more: dict[str, object] = {"max_tokens": most or MOST_TOKENS}
    retrieval = context.retrieve(order.transcript)
    if model.dialect == "llama.cpp" and model.adapter:
        # OpenAI's field for an answer that is largely known; llama.cpp's own server ignores it.
        guessed = wire.write(guess(retrieval, context.menu), context.names)
        more["prediction"] = {"type": "content", "content": guessed}
        if order.in_gaps:
            more["menu_s"] = MENU_S
    chat = context.messages(order, trained=bool(model.adapter), retrieval=retrieval)
    done = counted("decoder", model.complete(chat, mask, more, **how))
    if done.tokens is None or done.overruled is None:
        raise EngineUnavailable("The decode server did not say how sure it is of the cart")
    try:
        cart = wire.read_cart(done.text, context.names)
    except Unreadable as error:
        raise DecodeInvalid("The server's answer is no cart", quoted=str(error)) from None
    return Reading(
        lines=tuple(cart.lines),
        notes=cart.notes,
        grammar=done.grammar,
        trained=bool(model.adapter),
        text=done.text,
        logprob=sum(token.logprob for token in done.tokens),
        overruled=done.overruled,
        engine=done.engine,
        prompt_tokens=done.prompt_tokens,
        completion_tokens=done.completion_tokens,
        cached_tokens=done.cached_tokens,
        seconds=done.seconds,
        pieces=_by_piece(done.text, done.tokens),
    )


def _by_piece(text: str, tokens: Sequence[Token]) -> tuple[UnsurePiece, ...]:
    """The numbers, names and words of an answer in their order, each with its probability."""
    spans = {span: span for span in sorted(values(text))}
    certainty = probabilities(text, tokens, spans)
    return tuple(
        UnsurePiece(text=text[begin:end].strip('"'), probability=certainty.get((begin, end), 1.0))
        for begin, end in spans
    )
