"""The mask of the wire format: an llguidance grammar that accepts the carts of one menu and nothing else.

Generated from `wire_schema.py`, it follows the fields and bounds in `schemas/cart.py`. Only notes and lines
that are not on the menu quote the transcript; the rest is the same for all orders of a menu.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.cart import SCHEMA_VERSION
from schemas.errors import InvalidMenu
from schemas.menu import Menu
from services.clients.masked.saycart_masked import Mask
from services.decoding.menu_names import Names, by_shape
from services.decoding.wire_schema import CART, Array, Field, MenuName, Node, Object, Union, Value

PROBE_WORD = "quixotry"
PROBE_ANSWER = f"7 {PROBE_WORD}"
PROBE = Mask(
    f"""%llguidance {{}}
start: integer " " WORDS
integer: %json {{"type": "integer", "minimum": 7, "maximum": 7}}
WORDS: /[^ ](?s:.*[^ ])?/ & PIECE
PIECE: %regex {{"substring_chunks": ["{PROBE_WORD}"]}}
""",
    "probe",
    16,
)
"""Uses every feature that the masks of carts use: a server may know Lark but not `%json`, for example."""
# Words, spaces and punctuation of a transcript: a quote may end before a full stop.
_CHUNKS = re.compile(r"\w+(?:[-'’&]\w+)*|\s+|[^\w\s]+")
# A longer "word" is split, since a quote consists of whole chunks and has a maximum length.
_MAX_CHUNK = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """A Lark expression, and the length in bytes of the longest text that it matches."""

    expr: str
    max_bytes: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """Items with the same sizes and options, which share rules. `halved` are the options that may be for half
    of the item."""

    items: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    halved: frozenset[str] = frozenset()


def wire_mask(names: Names, transcript: str, cart: Object = CART) -> Mask:
    """Return the mask of one order."""
    builder = _GrammarBuilder(names, transcript)
    start = builder.rule(cart, _Shape())
    assert start is not None
    rules = [f"{name}: {body}" for body, name in builder.names_by_body.items()]
    lark = "\n".join(["%llguidance {}", f"start: {start.expr}", *rules]) + "\n"
    return Mask(lark, f"cart-json/{SCHEMA_VERSION}", start.max_bytes)


def check_menu(menu: Menu) -> None:
    """Compile a menu's grammar, before an order needs it.

    Raises:
        InvalidMenu: with llguidance's message.
    """
    if problem := wire_mask(Names(menu), "one of everything, please").problem():
        raise InvalidMenu([("/", f"its grammar does not compile: {problem:.300}")])


class _GrammarBuilder:
    def __init__(self, names: Names, transcript: str) -> None:
        self._names = names
        self._transcript = transcript
        self._halved = {group.id for group in names.menu.option_groups if group.halves}
        self.names_by_body: dict[str, str] = {}

    def rule(self, node: Node, shape: _Shape) -> Rule | None:
        """Return the rule of a node; None if the menu or the transcript has no value for it."""
        match node:
            case MenuName(part):
                return self._literal(part.upper(), getattr(shape, part))
            case Value({"enum": values}):
                return self._literal("CHOICE", values)
            case Value({"maxLength": max_length}):
                return self._words(max_length)
            case Value({"minimum": minimum, "maximum": maximum}):
                bounds = json.dumps({"type": "integer", "minimum": minimum, "maximum": maximum})
                return Rule(self._define("integer", f"%json {bounds}"), len(str(maximum)))
            case Array():
                return self._array(node, shape)
            case Union(objects):
                return self._any_of([self.rule(member, shape) for member in objects])
            case Object(per_item=True):
                return self._any_of([self._object(node, each) for each in self._shapes()])
            case Object():
                return self._object(node, shape)
        raise TypeError(f"No rule for {node}")

    def _object(self, node: Object, shape: _Shape) -> Rule | None:
        """Return an object's rule; options that may have a flagged field get one of their own."""
        if not any(field.group_flag for field in node.fields):
            return self._fields(node, shape)
        halved = tuple(option for option in shape.options if option in shape.halved)
        others = tuple(option for option in shape.options if option not in shape.halved)
        shapes = replace(shape, options=halved), replace(shape, options=others, halved=frozenset())
        return self._any_of([self._fields(node, each) for each in shapes])

    def _fields(self, node: Object, shape: _Shape) -> Rule | None:
        head, *others = node.fields
        first = self.rule(head.node, shape)
        if first is None:
            return None
        parts, max_bytes = [_quoted(f'{{"{head.key}":'), first.expr], len(head.key) + 5 + first.max_bytes
        for other in others:
            if other.group_flag and not shape.halved:
                continue
            if (member := self._member(other, shape)) is not None:
                parts.append(member.expr)
                max_bytes += member.max_bytes
            elif not other.optional:
                return None
        lark = " ".join([*parts, _quoted("}")])
        lark = f"{first.expr} | {lark}" if node.shorthand and others else lark
        return Rule(self._define(node.title.lower(), lark), max_bytes)

    def _member(self, field: Field, shape: _Shape) -> Rule | None:
        value = self.rule(field.node, shape)
        if value is None:
            return None
        lark = f'{_quoted(f""","{field.key}":""")} {value.expr}'
        return Rule(f"({lark})?" if field.optional else lark, len(field.key) + 4 + value.max_bytes)

    def _array(self, node: Array, shape: _Shape) -> Rule | None:
        element = self.rule(node.element, shape)
        if element is None:
            return None if node.nonempty else Rule(_quoted("[]"), 2)
        filled = element.expr
        if node.max_items > 1:  # llguidance rejects `{0,0}`
            filled += f' ("," {element.expr}){{0,{node.max_items - 1}}}'
        body = filled if node.nonempty else f"({filled})?"
        return Rule(f'"[" {body} "]"', node.max_items * (element.max_bytes + 1) + 1)

    def _any_of(self, rules: Iterable[Rule | None], stem: str = "either") -> Rule | None:
        possible = [rule for rule in rules if rule is not None]
        if not possible:
            return None
        return Rule(
            self._define(stem, " | ".join(rule.expr for rule in possible)),
            max(rule.max_bytes for rule in possible),
        )

    def _literal(self, stem: str, texts: Iterable[str]) -> Rule | None:
        literals = (json.dumps(text, ensure_ascii=False) for text in dict.fromkeys(texts))
        return self._any_of((Rule(_quoted(text), len(text.encode())) for text in literals), stem)

    def _shapes(self) -> Iterable[_Shape]:
        for (sizes, _), items in by_shape(self._names.menu.items).items():
            choices = self._names.choices(items[0])
            yield _Shape(
                tuple(self._names.items[item.sku] for item in items),
                tuple(self._names.sizes[size] for size in sizes),
                tuple(choice.name for choice in choices),
                frozenset(choice.name for choice in choices if choice.group in self._halved),
            )

    def _words(self, max_length: int) -> Rule | None:
        """Return the rule of consecutive whole words of the transcript, JSON-escaped."""
        chunks = [
            json.dumps(part[i : i + _MAX_CHUNK], ensure_ascii=False)[1:-1]
            for part in _CHUNKS.findall(self._transcript.strip())
            for i in range(0, len(part), _MAX_CHUNK)
        ]
        if not chunks:
            return None
        piece = f'%regex {{"substring_chunks": {json.dumps(chunks, ensure_ascii=False)}}}'
        bound = self._define("BOUND", f"/[^ ](?s:.{{0,{max_length - 2}}}[^ ])?/")
        words = self._define("WORDS", f"{bound} & {self._define('PIECE', piece)}")
        return Rule(f'"\\"" {words} "\\""', min(4 * max_length, len("".join(chunks).encode())) + 2)

    def _define(self, stem: str, body: str) -> str:
        """Return the name of the rule, or terminal (in capitals), with this body."""
        return self.names_by_body.setdefault(body, f"{stem}_{len(self.names_by_body)}")


def _quoted(text: str) -> str:
    # Lark strings are JSON strings, except for a raw DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
