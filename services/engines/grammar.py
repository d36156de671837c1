"""`CartDraft` + one order's evidence -> an llguidance grammar (Lark), its bound, and its version.

The JSON Schema of `CartDraft` is walked; nothing about a cart is written here a second time. Leaves take
their values from the evidence (`x-values`), models marked `x-each` stand once for each open item or
option, a field whose only open value is its default is not offered at all, and a model without any open
value disappears. What the walk does not know raises, so a new kind of field can't slip past the mask.

Cost: about 1 ms for an order's grammar, 10 ms for a whole 40-item menu.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from schemas.cart import CartDraft
from schemas.errors import InvalidMenu
from schemas.evidence import Evidence, OptionEvidence
from schemas.menu import Item, Menu
from services.engines.labels import Labels

SCHEMA: dict[str, Any] = CartDraft.model_json_schema()
# Longer "words" are cut into chunks that may end a span, or a span of one such word would not fit.
MAX_CHUNK_CHARS = 40
_BYTES = LLTokenizer("byte")


@dataclass(frozen=True, slots=True)
class Mask:
    """A grammar ready to be sent. `longest` is the size in bytes of the longest text that it allows, and
    so, at one byte a token, the number of tokens within which any allowed text ends."""

    lark: str
    version: str
    longest: int

    def accepts(self, text: str) -> bool:
        """Is `text` whole and inside the mask? Checked on what came back, since a server may ignore it."""
        matcher = LLMatcher(_BYTES, self.lark)
        try:
            tokens = _BYTES.tokenize_str(text)
        except UnicodeEncodeError:  # half a surrogate pair, as JSON's \u may spell it
            return False
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())


def schema_version() -> str:
    """Changes when and only when the shape of a cart does."""
    return hashlib.sha256(json.dumps(SCHEMA, sort_keys=True).encode()).hexdigest()[:12]


def mask_version(menu: Menu, version: int, tokenizer: str) -> str:
    """Names a mask in logs and on orders: schema, menu version and tokenizer."""
    parts = json.dumps([schema_version(), menu.model_dump(mode="json"), version, tokenizer])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def build_mask(evidence: Evidence, labels: Labels, version: str) -> Mask:
    """The mask of one order; `version` names it in logs (see `mask_version`)."""
    compiler = _Compiler(evidence, labels)
    start = compiler.walk(SCHEMA, {})
    if start is None:
        raise TypeError("CartDraft allows no text at all")
    return Mask(compiler.lark(start), version, start.longest)


def check_menu(menu: Menu) -> None:
    """Compile the grammar of the whole menu, as llguidance will, before the menu serves an order.

    Raises:
        InvalidMenu: llguidance refuses the grammar; its words are passed on.
    """
    sample = "one of everything, please"
    mask = build_mask(Evidence.everything(menu, 0, sample), Labels(menu), "check")
    problem = LLMatcher.validate_grammar(mask.lark) or LLMatcher(_BYTES, mask.lark).get_error()
    if problem:
        raise InvalidMenu([("/", f"its grammar does not compile: {problem:.300}")])


@dataclass(frozen=True, slots=True)
class _Piece:
    """A Lark expression, the longest text, in bytes, that it matches, and whether the field that holds
    it may be left out (its default is among the open values)."""

    expr: str
    longest: int
    optional: bool = False


Scope = dict[str, list[Any]]


class _Compiler:
    def __init__(self, evidence: Evidence, labels: Labels) -> None:
        self._evidence = evidence
        self._labels = labels
        self._items = {item.sku: item for item in evidence.menu.items}
        self._rules: dict[str, _Piece] = {}
        self._heard = _heard_terminal(evidence.transcript)

    def lark(self, start: _Piece) -> str:
        rules = [f"{name}: {piece.expr}" for name, piece in self._rules.items()]
        heard = [self._heard[0]] if any("HEARD" in rule for rule in rules) else []
        return "\n".join(["%llguidance {}", f"start: {start.expr}", *rules, *heard]) + "\n"

    def walk(self, schema: dict[str, Any], scope: Scope) -> _Piece | None:
        """The piece for one node of the schema; None when nothing is open for it."""
        schema = self._resolve(schema)
        if "x-values" in schema:
            return self._values(schema, scope)
        if "const" in schema:
            return _text(json.dumps(schema["const"]))
        if "oneOf" in schema:
            return _either(self.walk(branch, scope) for branch in schema["oneOf"])
        if schema.get("type") == "array":
            return self._array(schema, scope)
        if schema.get("type") == "object":
            return self._object(schema, scope)
        raise TypeError(f"No mask for this part of CartDraft; give the field `x-values`: {schema}")

    @staticmethod
    def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in schema:
            return schema
        named = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _values(self, schema: dict[str, Any], scope: Scope) -> _Piece | None:
        source = schema["x-values"]
        if source == "transcript":
            # Without a word to copy the whole line must close, or its string could never end.
            return _Piece('"\\"" HEARD "\\""', self._heard[1] + 2) if self._heard[1] else None
        if source == "quantities":
            values: list[Any] = list(self._evidence.quantities)
        else:
            values = scope[source]
        if "minimum" in schema:
            values = [v for v in values if schema["minimum"] <= v <= schema["maximum"]]
        # The default is spelled by leaving the field out, so that every cart has one spelling.
        spelled = [v for v in values if "default" not in schema or v != schema["default"]]
        piece = _either(_text(json.dumps(value, ensure_ascii=False)) for value in spelled)
        if piece is None or len(spelled) == len(values):
            return piece
        return _Piece(piece.expr, piece.longest, optional=True)

    def _array(self, schema: dict[str, Any], scope: Scope) -> _Piece | None:
        most = schema["maxItems"]
        each = self._resolve(schema["items"]).get("x-each")
        if each == "options" and 0 < len(scope["options_open"]) <= most:
            return self._in_order(schema, scope)
        one = self.walk(schema["items"], scope)
        if "discriminator" in schema["items"]:
            most = min(most, self._evidence.max_lines)
        if one is None or most == 0:
            return None if "default" in schema else _text("[]")
        longest = most * (one.longest + 1) + 2
        more = f' ("," {one.expr}){{0,{most - 1}}}' if most > 1 else ""
        some = f'"[" {one.expr}{more} "]"'
        if "default" in schema:
            return _Piece(some, longest, optional=True)
        return _Piece(f'({some} | "[]")', longest)

    def _in_order(self, schema: dict[str, Any], scope: Scope) -> _Piece:
        """A list of options in the order in which they were said: each once at most, required ones always.

        `rest` is what may follow from one option on; built from the last to the first.
        """
        options: list[OptionEvidence] = scope["options_open"]
        bodies = [self.walk(schema["items"], {**scope, "options_open": [option]}) for option in options]
        some: list[tuple[_Piece, bool]] = []  # (body, required), later ones first
        rest: _Piece | None = None
        for body, option in zip(reversed(bodies), reversed(options), strict=True):
            if body is None:
                raise TypeError("An open option must have a text")
            needed = any(required for _, required in some)
            tail = "" if rest is None else f' "," {rest.expr}' if needed else f' ("," {rest.expr})?'
            here = body.expr + tail
            expr = here if rest is None or option.required else f"{here} | {rest.expr}"
            longest = body.longest + (rest.longest + 1 if rest else 0)
            rest = self._rule("options", _Piece(expr, longest))
            some.append((body, option.required))
        if rest is None:
            raise TypeError("An open list must have an option")
        optional = not any(option.required for option in options)
        return _Piece(f'"[" {rest.expr} "]"', rest.longest + 2, optional=optional)

    def _object(self, schema: dict[str, Any], scope: Scope) -> _Piece | None:
        each = schema.get("x-each")
        if each == "items":
            return _either(self._rule("item", self._members(schema, inner)) for inner in self._item_scopes())
        if each == "options":
            return _either(
                self._rule("option", self._members(schema, self._option_scope(option)))
                for option in scope["options_open"]
            )
        return self._rule(schema["title"].lower(), self._members(schema, scope))

    def _members(self, schema: dict[str, Any], scope: Scope) -> _Piece | None:
        parts, longest, first = ['"{"'], 2, True
        for name, field in schema["properties"].items():
            value = self.walk(field, scope)
            if value is None:
                if name in schema.get("required", ()):
                    return None
                continue
            key = _text(("" if first else ",") + json.dumps(name) + ":")
            member = f"{key.expr} {value.expr}"
            parts.append(f"({member})?" if value.optional else member)
            longest += key.longest + value.longest
            first = False
        return _Piece(" ".join([*parts, '"}"']), longest)

    def _item_scopes(self) -> Iterable[Scope]:
        """Items with the same open sizes and options share one rule, so cost does not grow with items."""
        shared: dict[tuple[Any, ...], list[Item]] = {}
        for sku in self._evidence.items:
            item = self._items[sku]
            sizes = tuple(s for s in item.size_ids if s in self._evidence.sizes)
            options = tuple(o for o in self._evidence.options if o.group in item.option_groups)
            shared.setdefault((sizes, options), []).append(item)
        for (sizes, options), items in shared.items():
            yield {
                "items": [self._labels.items[item.sku] for item in items],
                "sizes": [
                    *([] if sizes and self._evidence.size_required else [None]),
                    *(self._labels.sizes[size] for size in sizes),
                ],
                "options_open": list(options),
            }

    def _option_scope(self, option: OptionEvidence) -> Scope:
        return {
            "groups": [self._labels.groups[option.group]],
            "options": [self._labels.options[option.group, option.id]],
            "amounts": [amount.value for amount in option.amounts],
            "counts": list(option.counts),
        }

    def _rule(self, stem: str, piece: _Piece | None) -> _Piece | None:
        """Give `piece` a name; the same expression gets the same name."""
        if piece is None:
            return None
        for name, known in self._rules.items():
            if known.expr == piece.expr:
                return _Piece(name, piece.longest)
        name = f"{stem}_{len(self._rules)}"
        self._rules[name] = piece
        return _Piece(name, piece.longest)


def _text(text: str) -> _Piece:
    # Lark takes JSON's spelling of strings, but no raw DEL.
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return _Piece(quoted, len(text.encode()))


def _either(pieces: Iterable[_Piece | None]) -> _Piece | None:
    open_ones = [piece for piece in pieces if piece is not None]
    if not open_ones:
        return None
    longest = max(piece.longest for piece in open_ones)
    if len(open_ones) == 1:
        return _Piece(open_ones[0].expr, longest)
    return _Piece("(" + " | ".join(piece.expr for piece in open_ones) + ")", longest)


def _heard_terminal(transcript: str) -> tuple[str, int]:
    """The terminal that matches exact word spans of `transcript`, JSON-escaped, and its longest match; no
    terminal and 0 when there is no word.

    llguidance's substring automaton takes chunks; words and the spaces between them are chunks of their
    own, and the other half of the intersection keeps spans from starting or ending in a space.
    """
    if not transcript.strip():
        return "", 0
    limit = SCHEMA["$defs"]["NotOnMenuLine"]["properties"]["heard"]["maxLength"]
    chunks = [
        json.dumps(word[i : i + MAX_CHUNK_CHARS], ensure_ascii=False)[1:-1]
        for word in re.findall(r"\S+|\s+", transcript)
        for i in range(0, len(word), MAX_CHUNK_CHARS)
    ]
    longest = min(sum(len(chunk.encode()) for chunk in chunks), limit * 4)
    bound = f"/[^ ](?s:.{{0,{limit - 2}}}[^ ])?/"
    return (
        f"HEARD: HEARD_BOUND & HEARD_SPAN\nHEARD_BOUND: {bound}\n"
        f'HEARD_SPAN: %regex {{"substring_chunks": {json.dumps(chunks, ensure_ascii=False)}}}',
        longest,
    )
