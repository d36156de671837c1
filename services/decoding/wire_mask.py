"""The mask of the compact spelling: every cart of a menu, and nothing else, as an llguidance grammar.

The tree of `spelling.py` is walked, so a bound or a field that changes in `schemas/cart.py` changes here. But
for wishes off the menu and notes, which are pieces of a transcript, the grammar is the same for all orders of
a menu.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.cart import SCHEMA_VERSION
from schemas.errors import InvalidMenu
from schemas.menu import Item, Menu
from services.clients.masked.saycart_masked import Mask
from services.decoding.menu_names import Names
from services.decoding.spelling import (
    CART,
    Array,
    Field,
    Integer,
    MenuName,
    Node,
    Object,
    OneOf,
    Union,
    Words,
)

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
"""Of what carts' masks are made of: a server may know Lark, and not `%json` or `substring_chunks`."""
# Words, spaces and punctuation of a transcript: a piece may end before a full stop.
_PARTS = re.compile(r"\w+(?:[-'’&]\w+)*|\s+|[^\w\s]+")
# Longer "words" are cut into chunks that may end a piece, or a piece of one such word would not fit.
_CHUNK = 40


@dataclass(frozen=True, slots=True)
class Piece:
    """A Lark expression, and the longest text, in bytes, that it matches."""

    expr: str
    longest: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """Items with the same sizes and options, which share their rules; of the options, those of groups with
    `halves` are named apart, too."""

    items: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    halved: frozenset[str] = frozenset()


def wire_mask(names: Names, transcript: str, cart: Object = CART) -> Mask:
    """The mask of one order on one menu, for drafts of the shape `cart`.

    Raises:
        TypeError: the spelling has a part that no grammar is made for.
    """
    maker = _Maker(names, transcript)
    start = maker.expression(cart, _Shape())
    assert start is not None
    rules = [f"{name}: {body}" for body, name in maker.named.items()]
    lark = "\n".join(["%llguidance {}", f"start: {start.expr}", *rules]) + "\n"
    return Mask(lark, f"cart-json/{SCHEMA_VERSION}", start.longest)


def check_menu(menu: Menu) -> None:
    """Compile the grammar of a menu, as llguidance will, before the menu serves an order.

    Raises:
        InvalidMenu: llguidance refuses the grammar; its words are passed on.
    """
    if problem := wire_mask(Names(menu), "one of everything, please").problem():
        raise InvalidMenu([("/", f"its grammar does not compile: {problem:.300}")])


class _Maker:
    def __init__(self, names: Names, transcript: str) -> None:
        self._names = names
        self._transcript = transcript
        self._halved = {group.id for group in names.menu.option_groups if group.halves}
        self.named: dict[str, str] = {}

    def expression(self, node: Node, shape: _Shape) -> Piece | None:
        """The grammar of a node; None where the menu or the transcript has no value for it."""
        match node:
            case MenuName(part):
                return self._one_of(part.upper(), getattr(shape, part))
            case OneOf(values):
                return self._one_of("CHOICE", values)
            case Integer(least, most):
                bounds = json.dumps({"type": "integer", "minimum": least, "maximum": most})
                return Piece(self._name("integer", f"%json {bounds}"), len(str(most)))
            case Words(longest):
                return self._words(longest)
            case Array(each, most, some):
                return self._array(each, most, shape, some=some)
            case Union(objects):
                return self._either([self.expression(one, shape) for one in objects])
            case Object(per_item=True):
                return self._either([self._object(node, own) for own in self._shapes()])
        return self._object(node, shape)

    def _object(self, node: Object, shape: _Shape) -> Piece | None:
        """An object's grammar; of options those with a field that asks for a mark, and then the others."""
        asking = next((one for one in node.fields if one.where), None)
        if asking is None:
            return self._whole(node, shape)
        with_it = replace(
            node, fields=tuple(replace(f, where=None) if f is asking else f for f in node.fields)
        )
        without = replace(node, fields=tuple(f for f in node.fields if f is not asking))
        ways = ((with_it, True), (without, False))
        return self._either(
            self._object(
                one, replace(shape, options=tuple(o for o in shape.options if (o in shape.halved) is is_in))
            )
            for one, is_in in ways
        )

    def _whole(self, node: Object, shape: _Shape) -> Piece | None:
        head, *others = node.fields
        first = self.expression(head.node, shape)
        if first is None:
            return None
        parts, longest = [_quoted(f'{{"{head.key}":'), first.expr], len(head.key) + 5 + first.longest
        for other in others:
            if (member := self._member(other, shape)) is not None:
                parts.append(member.expr)
                longest += member.longest
            elif not other.optional:
                return None
        lark = " ".join([*parts, _quoted("}")])
        lark = f"{first.expr} | {lark}" if node.bare and others else lark
        return Piece(self._name(node.title.lower(), lark), longest)

    def _member(self, field: Field, shape: _Shape) -> Piece | None:
        value = self.expression(field.node, shape)
        if value is None:
            return None
        lark = f'{_quoted(f""","{field.key}":""")} {value.expr}'
        return Piece(f"({lark})?" if field.optional else lark, len(field.key) + 4 + value.longest)

    def _array(self, each: Node, most: int, shape: _Shape, *, some: bool) -> Piece | None:
        element = self.expression(each, shape)
        if element is None:
            return None if some else Piece(_quoted("[]"), 2)
        filled = element.expr
        if most > 1:  # llguidance refuses `{0,0}`
            filled += f' ("," {element.expr}){{0,{most - 1}}}'
        return Piece(f'"[" {filled if some else f"({filled})?"} "]"', most * (element.longest + 1) + 1)

    def _either(self, ways: Iterable[Piece | None]) -> Piece | None:
        there = [way for way in ways if way is not None]
        if not there:
            return None
        return Piece(
            self._name("either", " | ".join(way.expr for way in there)), max(way.longest for way in there)
        )

    def _one_of(self, stem: str, texts: Iterable[str]) -> Piece | None:
        spelled = [json.dumps(text, ensure_ascii=False) for text in dict.fromkeys(texts)]
        if not spelled:
            return None
        return Piece(
            self._name(stem, " | ".join(map(_quoted, spelled))), max(len(text.encode()) for text in spelled)
        )

    def _shapes(self) -> Iterable[_Shape]:
        shared: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Item]] = {}
        for item in self._names.menu.items:
            shared.setdefault((item.size_ids, item.option_groups), []).append(item)
        for (sizes, _), items in shared.items():
            choices = self._names.choices(items[0])
            yield _Shape(
                tuple(self._names.items[item.sku] for item in items),
                tuple(self._names.sizes[size] for size in sizes),
                tuple(choice.name for choice in choices),
                frozenset(choice.name for choice in choices if choice.group in self._halved),
            )

    def _words(self, longest: int) -> Piece | None:
        """Whole words of the transcript that follow each other, JSON-escaped."""
        chunks = [
            json.dumps(part[i : i + _CHUNK], ensure_ascii=False)[1:-1]
            for part in _PARTS.findall(self._transcript.strip())
            for i in range(0, len(part), _CHUNK)
        ]
        if not chunks:
            return None
        piece = f'%regex {{"substring_chunks": {json.dumps(chunks, ensure_ascii=False)}}}'
        bound = self._name("BOUND", f"/[^ ](?s:.{{0,{longest - 2}}}[^ ])?/")
        words = self._name("WORDS", f"{bound} & {self._name('PIECE', piece)}")
        return Piece(f'"\\"" {words} "\\""', min(4 * longest, sum(map(_size, chunks))) + 2)

    def _name(self, stem: str, body: str) -> str:
        """A rule or, in capitals, a terminal of this body; the same body has one name."""
        return self.named.setdefault(body, f"{stem}_{len(self.named)}")


def _quoted(text: str) -> str:
    # Lark takes JSON's spelling of strings, but no raw DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _size(text: str) -> int:
    return len(text.encode())
