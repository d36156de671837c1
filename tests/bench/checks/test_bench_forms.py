"""Schemas and forms of the benches: what maskers are given allows our carts, and forms lead back."""

from __future__ import annotations

import json

import pytest
from llguidance import LLMatcher, LLTokenizer

from schemas.cart import CartDraft
from services.engines.decoding.prompt import examples
from tests.bench.chat import Answer
from tests.bench.orders import Order, labels_of, menu_of, sample
from tests.bench.techniques.forms import BASE, FORMS, Form
from tests.bench.techniques.reading import exact, read
from tests.bench.techniques.wire import CUT_LINES, CUT_OPTIONS, cut_down, wire_schema

MENUS = ("harbor-coffee", "copper-skillet")
TOKENIZER = LLTokenizer("byte")


def allows(schema: dict[str, object], text: str) -> bool:
    grammar = LLMatcher.grammar_from_json_schema(schema, overrides={"whitespace_flexible": True})
    matcher = LLMatcher(TOKENIZER, grammar)
    assert not matcher.get_error()
    tokens = TOKENIZER.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def an_order(menu: str, draft: CartDraft) -> Order:
    return Order("x", "x", menu_of(menu), draft.model_dump(mode="json")["lines"])


@pytest.mark.parametrize("menu", MENUS)
def test_the_schema_allows_the_products_carts_and_no_other_names(menu: str) -> None:
    labels, schema = labels_of(menu), wire_schema(menu_of(menu))
    for example in examples(labels.menu):
        text = labels.to_wire(example.draft)
        assert allows(schema, text)
        assert allows(cut_down(schema), text)
        for name in (line["sku"] for line in json.loads(text)["lines"] if "sku" in line):
            assert not allows(schema, text.replace(f'"sku":"{name}"', '"sku":"unicorn"'))


def test_what_is_cut_down_is_bounded_more_tightly() -> None:
    line = {"kind": "not_on_menu", "heard": "a bicycle", "quantity": 1}
    schema = wire_schema(menu_of(MENUS[0]))
    many = json.dumps({"lines": [line] * (CUT_LINES + 1)})
    assert allows(schema, many)
    assert not allows(cut_down(schema), many)
    small = cut_down(schema)["$defs"]["ItemLine"]["properties"]
    assert small["options"]["maxItems"] == CUT_OPTIONS
    assert "maxLength" not in small["heard"]
    assert "maxLength" in schema["$defs"]["ItemLine"]["properties"]["heard"], "a copy was cut"


@pytest.mark.parametrize("form", [BASE, *FORMS], ids=lambda form: form.name)
@pytest.mark.parametrize("menu", MENUS)
def test_a_forms_examples_are_in_its_schema_and_lead_back(form: Form, menu: str) -> None:
    """The examples shown in a form, read back through it, are the carts that they stand for."""
    labels = labels_of(menu)
    made = examples(labels.menu)
    order = an_order(menu, made[0].draft)
    shown = [m["content"] for m in form.messages(order) if m["role"] == "assistant"]
    assert len(shown) == len(made)
    for text, example in zip(shown, made, strict=True):
        assert allows(form.schema(labels.menu), text)
        answer = form.names(Answer(text, "stop", 0, 0, 0, 0.0), labels.menu)
        gold = [
            line
            for line in example.draft.model_dump(mode="json")["lines"]
            if form.escape or line["kind"] == "item"
        ]
        assert exact(read(answer, labels, example.said), gold)


def test_each_form_differs_from_the_base() -> None:
    order = sample(1)[0]
    base = (BASE.messages(order), BASE.schema(order.menu))
    assert base == (order.messages(), wire_schema(order.menu))
    for form in FORMS:
        assert form.messages(order) != base[0]
    by_name = {form.name: form for form in FORMS}
    kind_last = by_name["kind-last"].schema(order.menu)["$defs"]["ItemLine"]["properties"]
    assert list(kind_last)[-1] == "kind"
    assert "not_on_menu" not in json.dumps(by_name["no-escape"].messages(order)[0])
    assert "not_on_menu" not in json.dumps(by_name["no-escape"].schema(order.menu))


def test_an_answer_that_is_no_cart_stays_as_it_is() -> None:
    codes = next(form for form in FORMS if form.codes)
    for text in ("no cart", "[]", '{"lines": 3}', '{"lines": ["x"]}'):
        answer = Answer(text, "stop", 0, 0, 0, 0.0)
        assert codes.names(answer, menu_of(MENUS[0])) == answer
