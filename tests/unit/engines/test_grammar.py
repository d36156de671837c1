"""The mask says what `schemas/cart.py` says, no more and no less; it never leads into a dead end."""

from __future__ import annotations

import copy
import json
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLTokenizer
from pydantic import BaseModel, Field, ValidationError

from schemas.cart import MAX_OPTIONS, CartDraft, ItemLine, NoteDraft, NotOnMenuLine, OptionDraft
from schemas.errors import DecodeInvalid
from schemas.evidence import Evidence
from schemas.menu import Menu, spoken_key
from services.engines.decoding import prompt
from services.engines.masks import grammar, json_schema
from services.engines.masks.grammar import SCHEMA, build_mask, check_menu, mask_version
from services.engines.masks.labels import Labels
from services.reading.order import clean, read_order
from tests.stand_ins import CAFE, NASTY, big_menu, sample_menu
from tests.wire_text import SAID, item, mask_of, off_menu, said, wire

BYTES = LLTokenizer("byte")
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))
MODELS: dict[str, type[BaseModel]] = {
    "ItemLine": ItemLine,
    "NotOnMenuLine": NotOnMenuLine,
    "OptionDraft": OptionDraft,
}
FIELDS = [(name, field) for name, model in MODELS.items() for field in model.model_fields]


MENUS = {
    "trap-cafe": CAFE,
    "nasty": NASTY,
    **{name: sample_menu(name) for name in ("harbor-coffee", "copper-skillet")},
}


# One source: mask, published schema, prompt and validation can not drift apart.


def test_the_mask_walks_the_schema_that_validates() -> None:
    assert CartDraft.model_json_schema() == SCHEMA
    models = {name for name, schema in SCHEMA["$defs"].items() if "properties" in schema}
    assert models == {*MODELS, "NoteDraft"}
    for name, model in (*MODELS.items(), ("NoteDraft", NoteDraft)):
        assert list(SCHEMA["$defs"][name]["properties"]) == list(model.model_fields)


@pytest.mark.parametrize(("model", "field"), FIELDS)
def test_every_field_is_in_mask_schema_prompt_and_validation(model: str, field: str) -> None:
    schema = SCHEMA["$defs"][model]["properties"][field]
    # The mask: what opens it is marked, and a whole menu spells the key.
    assert {"x-values", "const", "items"} & set(schema)
    lark, later = mask_of(Evidence.everything(CAFE, 1, SAID)).lark, schema.get("x-later", False)
    assert (f'\\"{field}\\":' in lark) is not later
    # What is published, with and without a menu.
    for published in (json_schema.cart_schema(), json_schema.cart_schema(CAFE, 1)):
        assert field in published["$defs"][model]["properties"]
        assert published["$defs"][model]["additionalProperties"] is False
    # The prompt: a note a field; the discriminator is the head of its model's notes.
    notes = prompt.field_notes()
    if "const" in schema:
        assert f"{schema['const']} = " in notes
    else:
        assert (f"  {field}: {schema['description']}" in notes) is not later
    # Validation: the field's junk is refused, and so is its absence where it is required.
    whole = {"group": "milk", "id": "oat"} if model == "OptionDraft" else {}
    if model == "ItemLine":
        whole = {"kind": "item", "heard": "a", "sku": "b", "quantity": 1}
    if model == "NotOnMenuLine":
        whole = {"kind": "not_on_menu", "heard": "a", "quantity": 1}
    MODELS[model].model_validate(whole)
    with pytest.raises(ValidationError):
        MODELS[model].model_validate({**whole, field: {"junk": 1}})
    without = {key: value for key, value in whole.items() if key != field}
    if field in SCHEMA["$defs"][model]["required"]:
        with pytest.raises(ValidationError):
            MODELS[model].model_validate(without)
    else:
        assert MODELS[model].model_validate(without)


class _Noted(ItemLine):
    note: str = ""


class _NotedOption(OptionDraft):
    temperature: int = 1


class _Optioned(ItemLine):
    options: tuple[_NotedOption, ...] = Field(default=(), max_length=MAX_OPTIONS)


class _NotedCart(BaseModel):
    lines: tuple[Annotated[_Noted | NotOnMenuLine, Field(discriminator="kind")], ...] = Field(max_length=3)


class _OptionedCart(BaseModel):
    lines: tuple[Annotated[_Optioned | NotOnMenuLine, Field(discriminator="kind")], ...] = Field(max_length=3)


class _TippedCart(CartDraft):
    tip: int = 0


@pytest.mark.parametrize("cart", [_NotedCart, _OptionedCart, _TippedCart])
def test_a_new_field_without_values_can_not_slip_past_the_mask(
    cart: type[BaseModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar, "SCHEMA", cart.model_json_schema())
    with pytest.raises(TypeError, match="x-values"):
        mask_of(said(SAID))


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string"},
        {"type": "boolean", "default": False},
        {"enum": ["a"]},
        {"anyOf": [{"type": "null"}]},
    ],
)
def test_no_kind_of_field_is_passed_over(field: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["$defs"]["NotOnMenuLine"]["properties"]["fresh"] = field
    monkeypatch.setattr(grammar, "SCHEMA", schema)
    with pytest.raises(TypeError, match="x-values"):
        mask_of(said(SAID))


def test_a_renamed_field_is_renamed_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = json.loads(json.dumps(SCHEMA).replace('"quantity"', '"how_many"'))
    before = grammar.schema_version()
    for module in (grammar, json_schema, prompt):
        monkeypatch.setattr(module, "SCHEMA", renamed)
    lark = mask_of(said(SAID)).lark
    published = json.dumps(json_schema.cart_schema(CAFE, 1))
    notes = prompt.field_notes()
    for text, spelled in ((lark, '\\"{}\\":'), (published, '"{}"'), (notes, "  {}:")):
        assert spelled.format("how_many") in text
        assert spelled.format("quantity") not in text
    assert grammar.schema_version() != before
    assert json_schema.cart_schema()["version"] == grammar.schema_version()


def test_every_bound_of_the_schema_bounds_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["lines"]["maxItems"] = 1
    schema["$defs"]["OptionDraft"]["properties"]["count"]["maximum"] = 2
    schema["$defs"]["ItemLine"]["properties"]["quantity"]["maximum"] = 1
    monkeypatch.setattr(grammar, "SCHEMA", schema)
    mask = mask_of(said("two lattes with three vanilla"))
    assert mask.accepts(wire(off_menu("two")))
    assert not mask.accepts(wire(off_menu("two"), off_menu("two")))
    assert not mask.accepts(wire(item("two", "latte", 2)))
    assert not mask.accepts(
        wire(item("two", "latte", options=[{"group": "syrup", "id": "vanilla", "count": 3}]))
    )


def test_prompt_examples_are_carts_that_their_own_mask_allows() -> None:
    for name in ("trap-cafe", "harbor-coffee", "copper-skillet"):
        menu = MENUS[name]
        labels = Labels(menu)
        for example in prompt.examples(menu):
            evidence = Evidence.everything(menu, 1, clean(example.said))
            assert mask_of(evidence).accepts(labels.to_wire(example.draft)), example


# Versions, and menus that must not be refused.


def test_the_version_names_menu_version_tokenizer_and_schema() -> None:
    base = mask_version(CAFE, 1, "qwen")
    assert base == mask_version(CAFE.model_copy(deep=True), 1, "qwen")
    dearer = CAFE.model_copy(update={"name": "Another"})
    others = {mask_version(dearer, 1, "qwen"), mask_version(CAFE, 2, "qwen"), mask_version(CAFE, 1, "llama")}
    assert len(others | {base}) == 4


def test_the_version_changes_with_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    base, published = mask_version(CAFE, 1, "qwen"), json_schema.cart_schema()["version"]
    assert published == grammar.schema_version()
    changed = copy.deepcopy(SCHEMA)
    changed["$defs"]["ItemLine"]["properties"]["size"]["description"] += "!"
    monkeypatch.setattr(grammar, "SCHEMA", changed)
    assert mask_version(CAFE, 1, "qwen") != base
    assert grammar.schema_version() != published


def test_the_mask_carries_the_version_it_was_given() -> None:
    assert build_mask(said(SAID), Labels(CAFE), "v7").version == "v7"


@pytest.mark.parametrize("name", MENUS)
def test_good_menus_pass_the_check(name: str) -> None:
    check_menu(MENUS[name])


@QUICK
@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), min_size=1, max_size=30),
        min_size=3,
        max_size=6,
    )
)
def test_any_name_that_a_menu_may_have_compiles(names: list[str]) -> None:
    names = [name.strip() for name in names if spoken_key(name)]
    names = list({spoken_key(name): name for name in names}.values())
    if not names:
        return
    menu = Menu.parse(
        {
            "id": "any",
            "name": "any",
            "currency": "USD",
            "sizes": [{"id": f"s{i}", "name": name} for i, name in enumerate(names)],
            "option_groups": [
                {"id": "g", "name": names[0], "options": [{"id": "o", "name": name} for name in names[:1]]}
            ],
            "items": [
                {"sku": f"i{i}", "name": name, "prices": {"s0": i}, "option_groups": ["g"]}
                for i, name in enumerate(names)
            ],
        }
    )
    check_menu(menu)
    mask = mask_of(Evidence.everything(menu, 1, "x"))
    labels = Labels(menu)
    for i in range(len(names)):
        line = ItemLine(
            kind="item",
            heard="x",
            sku=f"i{i}",
            quantity=1,
            size="s0",
            options=(OptionDraft(group="g", id="o"),),
        )
        assert mask.accepts(labels.to_wire(CartDraft(lines=(line,))))


def test_a_menu_of_two_thousand_items_compiles() -> None:
    menu = big_menu(2000)
    check_menu(menu)
    evidence = read_order("one dish number 1234 with part 14 3", menu, 1)
    assert set(evidence.items) == {"i1234"}
    line = item(
        "one dish number 1234", "dish number 1234", options=[{"group": "choice 14", "id": "part 14 3"}]
    )
    assert mask_of(evidence).accepts(wire(line))


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "null", "1" * 5000, "[" * 100_000, '{"lines":null}', '{"lines":[1]}',
        '{"lines":"ab"}',
        wire({"kind": "item"}), wire({"kind": "item", "sku": []}), wire(item("x", "unicorn")),
        wire(item("x", "latte", size="huge")), wire(item("x", "latte", options=None)),
        wire(item("x", "latte", options=["oat milk"])), wire(item("x", "latte", options=[{"group": "milk"}])),
        wire(item("x", "latte", options=[{"group": "extras", "id": "oat milk"}])),
        wire(item("x", "latte", 0)),
        wire(item("x", "latte", price=0)), wire(off_menu("")), wire(*[off_menu("x")] * 13),
        '{"lines":[{"kind":"item","heard":"x"',
    ],
    ids=range(22),
)  # fmt: skip
def test_text_that_is_no_cart_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(DecodeInvalid):
        Labels(CAFE).from_wire(text)


def test_the_published_schema_closes_ids_to_the_menu() -> None:
    published = json_schema.cart_schema(CAFE, 3)
    lines = published["$defs"]["ItemLine"]["properties"]
    option = published["$defs"]["OptionDraft"]["properties"]
    assert lines["sku"]["enum"] == [item.sku for item in CAFE.items]
    assert lines["size"]["anyOf"][0]["enum"] == [size.id for size in CAFE.sizes]
    assert option["group"]["enum"] == [group.id for group in CAFE.option_groups]
    assert set(option["id"]["enum"]) == {o.id for group in CAFE.option_groups for o in group.options}
    assert published["version"].endswith("/trap-cafe/3")
    assert "enum" not in SCHEMA["$defs"]["ItemLine"]["properties"]["sku"], "the source was changed"
