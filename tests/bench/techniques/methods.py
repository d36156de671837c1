"""The techniques, side by side: the same messages to the same model; only constraint and calls differ.

`METHODS` are the techniques, in the order of the report; `VARIANTS` change the form of the cart under one
technique (`schema-llguidance`), one thing at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.engines.masks.grammar import build_mask
from tests.bench.chat import Answer, Chat
from tests.bench.orders import Order
from tests.bench.repairing import repaired
from tests.bench.techniques.favoured import ALONE, BIAS, favoured
from tests.bench.techniques.forms import BASE, FORMS, Form
from tests.bench.techniques.reading import read
from tests.bench.techniques.templated import templated
from tests.bench.techniques.wire import cut_down, wire_schema

MAX_TOKENS = 400  # the longest gold cart of the sets takes under 300
DRAFT = "Write that cart again in the exact form, with what was said and nothing else."

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """`backend` is the server's; `ask` gives every answer of one order, the last of which counts."""

    name: str
    says: str
    backend: str
    ask: Callable[[Chat, Order, Body], list[Answer]]
    form: Form = BASE


def _once(
    constraint: Callable[[Order], Body], form: Form = BASE
) -> Callable[[Chat, Order, Body], list[Answer]]:
    def ask(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
        body = {"max_tokens": MAX_TOKENS, **sampling, **constraint(order)}
        return [chat.ask(form.messages(order), **body)]

    return ask


def _repaired(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
    """The old pipeline: parse, and on an error show it to the model, up to two times."""

    def problem(answer: Answer) -> str | None:
        reading = read(answer, order.labels, order.said)
        return reading.problem if reading.failure is not None else None

    return repaired(chat, order.messages(), {"max_tokens": MAX_TOKENS, **sampling}, problem)


def _drafted(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
    """A free draft first; then the cart under the evidence's mask, with the draft in view."""
    history = order.messages()
    body = {"max_tokens": MAX_TOKENS, **sampling}
    draft = chat.ask(history, **body)
    again = [
        *history,
        {"role": "assistant", "content": draft.text},
        {"role": "user", "content": DRAFT},
    ]
    return [draft, chat.ask(again, **body, **_evidence(order))]


def _favouring(by: float) -> Callable[[Chat, Order, Body], list[Answer]]:
    """`logit_bias` on the tokens of carts, in a free answer."""

    def ask(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
        body = {"max_tokens": MAX_TOKENS, **sampling, "logit_bias": favoured(chat, order, by)}
        return [chat.ask(order.messages(), **body)]

    return ask


def _free(order: Order) -> Body:
    return {}


def _json_mode(order: Order) -> Body:
    return {"response_format": {"type": "json_object"}}


def _called(*, strict: bool) -> Callable[[Order], Body]:
    """A function that takes the cart, and no other answer. vLLM 0.32 masks the arguments of a strict one, and
    of any other the envelope alone, in XGrammar's own way, which its llguidance refuses."""

    def constraint(order: Order) -> Body:
        function = {"name": "cart", "description": "Takes the cart.", "parameters": wire_schema(order.menu)}
        return {
            "tools": [{"type": "function", "function": {**function, "strict": strict}}],
            "tool_choice": {"type": "function", "function": {"name": "cart"}},
        }

    return constraint


def _schema(order: Order) -> Body:
    return {"structured_outputs": {"json": wire_schema(order.menu)}}


def _cut_schema(order: Order) -> Body:
    return {"structured_outputs": {"json": cut_down(wire_schema(order.menu))}}


def _evidence(order: Order) -> Body:
    mask = build_mask(order.evidence(), order.labels, "bench")
    return {"structured_outputs": {"grammar": mask.lark}}


def _form_schema(form: Form) -> Callable[[Order], Body]:
    """The form's schema as a grammar, since only there whitespace can be set by the request."""

    def constraint(order: Order) -> Body:
        schema = form.schema(order.menu)
        schema["x-guidance"] = {"whitespace_flexible": form.free_whitespace}
        return {"structured_outputs": {"grammar": f"%llguidance {{}}\nstart: %json {json.dumps(schema)}\n"}}

    return constraint


METHODS = (
    Method("prompt", "prompt only", "guidance", _once(_free)),
    Method("repair", "prompt, then up to two repairs", "guidance", _repaired),
    Method("json-mode", "JSON mode", "guidance", _once(_json_mode)),
    Method("bias", "`logit_bias`, a cart's tokens likelier", "guidance", _favouring(BIAS)),
    Method("bias-alone", "`logit_bias`, a cart's tokens alone", "guidance", _favouring(ALONE)),
    Method("tools", "function calling", "xgrammar", _once(_called(strict=False))),
    Method("tools-strict", "function calling, strict, XGrammar", "xgrammar", _once(_called(strict=True))),
    Method("template", "template with holes, llguidance", "guidance", templated),
    Method("outlines", "schema, Outlines (cut down)", "outlines", _once(_cut_schema)),
    Method("xgrammar", "schema, XGrammar", "xgrammar", _once(_schema)),
    Method("schema-llguidance", "schema, llguidance", "guidance", _once(_schema)),
    Method("evidence", "evidence mask, llguidance (ours)", "guidance", _once(_evidence)),
    Method("draft", "draft, then evidence mask", "guidance", _drafted),
)
VARIANTS = tuple(
    Method(form.name, form.says, "guidance", _once(_form_schema(form), form), form) for form in FORMS
)
BY_NAME = {method.name: method for method in (*METHODS, *VARIANTS)}
