"""Decode one order: a cart under the menu's mask, with the model's probabilities.

The LoRA adapter trained for this (`services/learning/training`) is used where the server has it, for these
requests only. Otherwise the base model gets a longer prompt, which explains the format.

Cost, on 2 CPU threads with the 1.5B model and the menu cached: 30 ms per token of the order, 95 ms per token
of the answer that was not predicted, and about 35 ms for the mask of 60 items (docs/training.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from schemas.decision import UnsurePiece
from schemas.errors import EngineUnavailable
from schemas.order import DecodedBy
from services.clients.masked.saycart_masked import How, Token, probabilities, values
from services.decoding import wire
from services.decoding.completion import Completions, record_usage
from services.decoding.ports import CartRequest, DecodedCart
from services.decoding.prompt import context_of
from services.decoding.wire_mask import wire_mask
from services.retrieval.literal import literal_cart

MAX_TOKENS = 400
"""Token budget of an answer where none is configured: twelve lines with a few options each."""
PREFILL_S = 0.3
"""Time slice for prefilling a new menu before other orders get a turn: one or two batches on two cores."""


def decode_cart(request: CartRequest, model: Completions, max_tokens: int, **how: Unpack[How]) -> DecodedCart:
    """Return the cart that the model writes, in at most `max_tokens` tokens (0: the default).

    Raises as `Completions.complete`.
    """
    context = context_of(request.menu)
    mask = wire_mask(context.names, request.transcript)
    more: dict[str, object] = {"max_tokens": max_tokens or MAX_TOKENS}
    retrieval = context.retrieve(request.transcript)
    if model.dialect == "llama.cpp" and model.adapter:
        # OpenAI's predicted output; llama.cpp's own server ignores it.
        literal = literal_cart(request.transcript, retrieval, context.menu)
        more["prediction"] = {"type": "content", "content": wire.write(literal, context.names)}
        if request.chunked_prefill:
            more["menu_s"] = PREFILL_S
    chat = context.messages(request, trained=bool(model.adapter), retrieval=retrieval)
    done = record_usage("decoder", model.complete(chat, mask, more, **how))
    if done.tokens is None or done.overruled is None:
        raise EngineUnavailable("The decode server returned no token probabilities")
    cart = wire.read_cart(done.text, context.names)
    return DecodedCart(
        lines=tuple(cart.lines),
        notes=cart.notes,
        trained=bool(model.adapter),
        text=done.text,
        logprob=sum(token.logprob for token in done.tokens),
        overruled=done.overruled,
        by=DecodedBy(
            decoder=done.engine,
            grammar=done.grammar,
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            cached_tokens=done.cached_tokens,
        ),
        pieces=_pieces(done.text, done.tokens),
    )


def _pieces(text: str, tokens: Sequence[Token]) -> tuple[UnsurePiece, ...]:
    """Return the numbers, names and words of an answer, in order, with their probabilities."""
    spans = {span: span for span in sorted(values(text))}
    certainty = probabilities(text, tokens, spans)
    return tuple(
        UnsurePiece(text=text[begin:end].strip('"'), probability=certainty.get((begin, end), 1.0))
        for begin, end in spans
    )
