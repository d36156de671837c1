"""JSON Schema + one order's evidence -> a grammar in llguidance's Lark.

The schema of `CartDraft` is walked; nothing about a cart is written here a second time. Leaves take their
values from the evidence (`x-values`), models marked `x-each` stand once for each open item or option, a
field whose only open value is its default is not offered at all, and a model without any open value
disappears. What the walk does not know raises, so a new kind of field can't slip past the mask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, OptionEvidence
from schemas.menu import Item
from services.decoding.lark_pieces import Piece, Slot, either, escaped, fits, plain, whole_words
from services.engines.masks.labels import Labels

# Longer "words" are cut into chunks that may end a span, or a span of one such word would not fit.
MAX_CHUNK_CHARS = 40


Scope = dict[str, Any]


class Compiler:
    """Walks one schema with one order's evidence; used once.

    With `written` a part of what is allowed otherwise: a line's own words, where the evidence tells them, are
    its only `heard`, and where every word is accounted for nothing is off the menu.
    """

    def __init__(
        self, schema: dict[str, Any], evidence: Evidence, labels: Labels, *, written: bool = False
    ) -> None:
        self._schema = schema
        self._written = written
        self._evidence = evidence
        self._labels = labels
        self._items = {item.sku: item for item in evidence.menu.items}
        self._rules: dict[str, Piece] = {}
        self._terminals: dict[str, str] = {}

    def compile(self) -> tuple[str, int]:
        """The grammar, and the size in bytes of the longest text that it allows.

        Raises:
            TypeError: the schema has a part that no mask can be made of.
        """
        start = self._walk(self._schema, {})
        if start is None:
            raise TypeError("the schema allows no text at all")
        rules = [f"{name}: {piece.expr}" for name, piece in self._rules.items()]
        terminals = [f"{name}: {body}" for body, name in self._terminals.items()]
        return "\n".join(["%llguidance {}", f"start: {start.expr}", *rules, *terminals]) + "\n", start.longest

    def _walk(self, schema: dict[str, Any], scope: Scope) -> Piece | None:
        """The piece for one node of the schema; None when nothing is open for it."""
        schema = self._resolve(schema)
        if "x-values" in schema:
            return self._values(schema, scope)
        if "const" in schema:
            return plain(json.dumps(schema["const"]))
        if schema.get("type") == "array":
            return self._array(schema, scope)
        if schema.get("type") == "object":
            return self._object(schema, scope)
        raise TypeError(f"No mask for this part of CartDraft; give the field `x-values`: {schema}")

    def _resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in schema:
            return schema
        named = self._schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _values(self, schema: dict[str, Any], scope: Scope) -> Piece | None:
        if schema["x-values"] == "transcript":
            about = scope["region"], scope["anchors"], schema["maxLength"]
            return self._own_words(scope.get("words", ""), *about) or self._heard(*about)
        values = list(scope[schema["x-values"]])
        if "minimum" in schema:
            values = [v for v in values if schema["minimum"] <= v <= schema["maximum"]]
        # The default is spelled by leaving the field out, so that every cart has one spelling.
        spelled = [v for v in values if "default" not in schema or v != schema["default"]]
        piece = either(plain(json.dumps(value, ensure_ascii=False)) for value in spelled)
        if piece is None or len(spelled) == len(values):
            return piece
        return Piece(piece.expr, piece.longest, optional=True)

    def _slots(self, branch: dict[str, Any], scope: Scope) -> list[Slot]:
        match branch.get("x-each"):
            case "items":
                return [self._line_slot(branch, line) for line in self._evidence.lines]
            case "options":
                return [self._option_slot(branch, option) for option in scope["options_open"]]
        return [self._off_menu_slot(branch, words) for words in self._off_menu()]

    def _array(self, schema: dict[str, Any], scope: Scope) -> Piece | None:
        """A list is a row of slots in the order of the words, each taken or passed over; required ones not
        passed over. The empty list is left out where it is the default."""
        branches = [self._resolve(branch) for branch in schema["items"].get("oneOf", [schema["items"]])]
        slots = [slot for branch in branches for slot in self._slots(branch, scope) if slot.body is not None]
        if sum(slot.copies for slot in slots) > schema["maxItems"]:
            slots = [self._any_order(slots, schema["maxItems"])]
        inner = self._in_order(slots, schema)
        if inner is None:
            return None if "default" in schema else plain("[]")
        some, longest = f'"[" {inner.expr} "]"', inner.longest + 2
        if "default" in schema:
            return Piece(some, longest, optional=not any(slot.required for slot in slots))
        if any(slot.required for slot in slots):
            return Piece(some, longest)
        return Piece(f'({some} | "[]")', longest)

    def _in_order(self, slots: list[Slot], schema: dict[str, Any]) -> Piece | None:
        """Some of the slots, in their order; `rest` is what may follow from one slot on, built from the
        last to the first."""
        rest: Piece | None = None
        needed = False
        for slot in reversed(slots):
            if slot.body is None:
                continue
            more = f' ("," {slot.body.expr}){{0,{slot.copies - 1}}}' if slot.copies > 1 else ""
            tail = "" if rest is None else f' "," {rest.expr}' if needed else f' ("," {rest.expr})?'
            here = slot.body.expr + more + tail
            longest = slot.copies * (slot.body.longest + 1) + (rest.longest + 1 if rest else 0)
            expr = here if rest is None or slot.required else f"{here} | {rest.expr}"
            rest = self._rule(schema["title"].lower(), Piece(expr, longest))
            needed = needed or slot.required
        return rest

    def _any_order(self, slots: list[Slot], most: int) -> Slot:
        """More slots than the list may hold (a whole menu): any of them, bounded by count alone."""
        body = either(slot.body for slot in slots)
        return Slot(self._rule("any", body), most)

    def _line_slot(self, schema: dict[str, Any], line: LineEvidence) -> Slot:
        bodies = [self._rule("item", self._members(schema, scope)) for scope in self._item_scopes(line)]
        return Slot(either(bodies), line.copies, line.required)

    def _option_slot(self, schema: dict[str, Any], option: OptionEvidence) -> Slot:
        scope = {
            "groups": [self._labels.groups[option.group]],
            "options": [self._labels.options[option.group, option.id]],
            "amounts": [amount.value for amount in option.amounts],
            "counts": list(option.counts),
        }
        return Slot(self._rule("option", self._members(schema, scope)), 1, option.required)

    def _off_menu(self) -> tuple[OffMenuEvidence, ...]:
        if self._written and self._evidence.lines and not self._evidence.unexplained:
            return self._evidence.off_menu
        anything = OffMenuEvidence(words="", quantities=self._evidence.off_menu_quantities)
        return self._evidence.off_menu or (anything,)

    def _off_menu_slot(self, schema: dict[str, Any], off_menu: OffMenuEvidence) -> Slot:
        scope = {
            "region": self._evidence.transcript,
            "anchors": [off_menu.words] if off_menu.words else [],
            "words": whole_words(self._evidence.transcript, off_menu.words),
            "quantities": list(off_menu.quantities),
        }
        return Slot(self._walk(schema, scope))

    def _object(self, schema: dict[str, Any], scope: Scope) -> Piece | None:
        return self._rule(schema["title"].lower(), self._members(schema, scope))

    def _members(self, schema: dict[str, Any], scope: Scope) -> Piece | None:
        parts, longest, first = ['"{"'], 2, True
        for name, field in schema["properties"].items():
            if field.get("x-later"):  # the readers that ship do not write it yet
                continue
            value = self._walk(field, scope)
            if value is None:
                if name in schema.get("required", ()):
                    return None
                continue
            key = plain(("" if first else ",") + json.dumps(name) + ":")
            member = f"{key.expr} {value.expr}"
            parts.append(f"({member})?" if value.optional else member)
            longest += key.longest + value.longest
            first = False
        return Piece(" ".join([*parts, '"}"']), longest)

    def _item_scopes(self, line: LineEvidence) -> Iterable[Scope]:
        """Items with the same open sizes and options share one rule, so cost does not grow with items."""
        shared: dict[tuple[Any, ...], list[Item]] = {}
        for sku in line.items:
            item = self._items[sku]
            sizes = tuple(s for s in item.size_ids if s in line.sizes)
            options = tuple(o for o in line.options if o.group in item.option_groups)
            shared.setdefault((sizes, options), []).append(item)
        for (sizes, options), items in shared.items():
            unsaid = [] if sizes and line.size_required else [None]
            yield {
                "region": line.region,
                "anchors": [line.anchor] if line.anchor else [],
                "words": line.words,
                "items": [self._labels.items[item.sku] for item in items],
                "quantities": list(line.quantities),
                "sizes": [*unsaid, *(self._labels.sizes[size] for size in sizes)],
                "options_open": options,
            }

    def _rule(self, stem: str, piece: Piece | None) -> Piece | None:
        """Give `piece` a name; the same expression gets the same name."""
        if piece is None:
            return None
        for name, known in self._rules.items():
            if known.expr == piece.expr:
                return Piece(name, piece.longest)
        name = f"{stem}_{len(self._rules)}"
        self._rules[name] = piece
        return Piece(name, piece.longest)

    def _own_words(self, words: str, region: str, anchors: list[str], limit: int) -> Piece | None:
        """`words` alone, where they are to be written and are among the spans of `_heard`."""
        whole = words and words == words.strip() and f" {words} " in f" {region} "
        holds = all(anchor in words for anchor in anchors) and len(escaped(words)) <= limit
        return plain(f'"{escaped(words)}"') if self._written and whole and holds else None

    def _heard(self, region: str, anchors: list[str], limit: int) -> Piece | None:
        """Exact word spans of `region`, JSON-escaped, that hold one of `anchors`.

        llguidance's substring automaton takes chunks; words and the spaces between them are chunks of
        their own, and the other parts of the intersection keep spans from starting or ending in a space
        and bind them to their anchor.
        """
        words = re.findall(r"\S+|\s+", region)
        if not any(word.strip() for word in words):
            return None
        chunks = [
            escaped(word[i : i + MAX_CHUNK_CHARS])
            for word in words
            for i in range(0, len(word), MAX_CHUNK_CHARS)
        ]
        longest = min(sum(len(chunk.encode()) for chunk in chunks), limit * 4)
        parts = [
            self._terminal("BOUND", f"/[^ ](?s:.{{0,{limit - 2}}}[^ ])?/"),
            self._terminal(
                "SPAN", f'%regex {{"substring_chunks": {json.dumps(chunks, ensure_ascii=False)}}}'
            ),
        ]
        if held := [a for a in map(escaped, anchors) if fits(a, chunks, limit)]:
            wanted = "|".join(exactly(anchor) for anchor in held)
            parts.append(self._terminal("HOLDS", f"/(?s:.*)({wanted})(?s:.*)/"))
        heard = self._terminal("HEARD", " & ".join(parts))
        return Piece(f'"\\"" {heard} "\\""', longest + 2)

    def _terminal(self, stem: str, body: str) -> str:
        return self._terminals.setdefault(body, f"{stem}_{len(self._terminals)}")


def exactly(text: str) -> str:
    """`text` as a regex that matches it and nothing else. By number, since Rust's regexes refuse a
    backslash before most signs, and take `\\<` for the start of a word."""
    return re.sub(r"[^\w ]", lambda sign: f"\\x{{{ord(sign.group()):X}}}", text)
