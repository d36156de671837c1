"""What the mask should allow, said a second time: from evidence and menu, without schema, Lark or llguidance.

A cart's text is a tree of bytes (`Text`, `Row`, `Any`); `read` follows a text through it and tells how far it
could still become a cart, and which bytes may come next. What is compared with it is the grammar, byte by
byte, so nothing here may be taken from `services/engines/masks/lark.py` but its limit on long words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.cart import MAX_COUNT, MAX_HEARD_CHARS, MAX_LINES, MAX_OPTIONS, MAX_QUANTITY, Amount
from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, OptionEvidence
from schemas.menu import Item, Menu
from schemas.writable import writable
from services.engines.masks.lark import MAX_CHUNK_CHARS


@dataclass(frozen=True, eq=False)
class Text:
    """Any one of these."""

    options: tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class Row:
    """One after another."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Any:
    """Any one of these."""

    branches: tuple[Node, ...]


Node = Text | Row | Any
NOTHING = Text((b"",))
COMMA = Text((b",",))


@dataclass
class Reading:
    """How far a text goes: `reach` bytes of it can begin a cart, and `following` may come after these."""

    text: bytes
    reach: int = 0
    following: set[int] = field(default_factory=set)
    whole: bool = False
    _known: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    @property
    def viable(self) -> bool:
        return self.reach == len(self.text)

    def ends(self, node: Node, start: int) -> frozenset[int]:
        """Where `node` may end when it begins at `start`."""
        key = (id(node), start)
        if key not in self._known:
            self._known[key] = frozenset(self._ends(node, start))
        return self._known[key]

    def _ends(self, node: Node, start: int) -> set[int]:
        if isinstance(node, Row):
            at = {start}
            for part in node.parts:
                at = {end for here in at for end in self.ends(part, here)}
            return at
        if isinstance(node, Any):
            return {end for branch in node.branches for end in self.ends(branch, start)}
        return {start + len(option) for option in node.options if self._met(option, start)}

    def _met(self, option: bytes, start: int) -> bool:
        here = self.text[start : start + len(option)]
        same = next((i for i, (a, b) in enumerate(zip(option, here, strict=False)) if a != b), len(here))
        if start + same > self.reach:
            self.reach, self.following = start + same, set()
        if start + same == self.reach and same < len(option):
            self.following.add(option[same])
        return same == len(option)


def read(text: bytes, cart: Node) -> Reading:
    """`text` against the tree of `cart_of`."""
    reading = Reading(text)
    reading.whole = len(text) in reading.ends(cart, 0)
    return reading


def cart_of(evidence: Evidence) -> Node:
    """Every text of a cart that this evidence backs."""
    slots = [
        (node, line.copies, line.required)
        for line in evidence.lines
        if (node := _item_line(evidence.menu, line)) is not None
    ]
    anything = OffMenuEvidence(words="", quantities=evidence.off_menu_quantities)
    for off_menu in evidence.off_menu or (anything,):
        node = _off_menu_line(evidence, off_menu)
        slots += [(node, 1, False)] if node is not None else []
    return _row('{"lines":', _list(slots, MAX_LINES, empty=True) or '"never"', "}")


def spans(region: str, anchor: str) -> list[str]:
    """Word spans of `region` that hold `anchor`, as JSON spells them; very long words in pieces."""
    words = re.findall(r"\S+|\s+", region)
    if not region.strip():
        return []
    pieces = [
        _json(w[i : i + MAX_CHUNK_CHARS])[1:-1] for w in words for i in range(0, len(w), MAX_CHUNK_CHARS)
    ]
    found = []
    for first in range(len(pieces)):
        text = ""
        for piece in pieces[first:]:
            text += piece
            if len(text) > MAX_HEARD_CHARS:
                break
            if not text.startswith(" ") and not text.endswith(" "):
                found.append(text)
    return [text for text in found if _json(anchor)[1:-1] in text] or found


def _item_line(menu: Menu, line: LineEvidence) -> Node | None:
    heard = spans(line.region, line.anchor)
    branches = [_item(menu, item, line, heard) for item in menu.items if item.sku in line.items]
    return Any(tuple(branches)) if heard and line.quantities and branches else None


def _item(menu: Menu, item: Item, line: LineEvidence, heard: list[str]) -> Node:
    sizes = [size.name for size in menu.sizes if size.id in line.sizes and size.id in item.size_ids]
    opened = [o for o in line.options if o.group in item.option_groups]
    slots = [(_option(menu, option), 1, option.required) for option in opened]
    options = _list(slots, MAX_OPTIONS, empty=False)
    needed = len(slots) <= MAX_OPTIONS and any(required for _, _, required in slots)
    return _row(
        '{"kind":"item","heard":',
        _text(f'"{text}"' for text in heard),
        f',"sku":{_json(writable(item.name))},"quantity":',
        _text(str(number) for number in line.quantities if number <= MAX_QUANTITY),
        _field("size", [_json(writable(name)) for name in sizes], may_lack=not line.size_required),
        NOTHING if options is None else _maybe(_row(',"options":', options), lacking=not needed),
        "}",
    )


def _option(menu: Menu, option: OptionEvidence) -> Node:
    group = menu.group(option.group)
    assert group is not None
    name = next(o.name for o in group.options if o.id == option.id)
    amounts = [_json(amount.value) for amount in option.amounts if amount is not Amount.NORMAL]
    return _row(
        f'{{"group":{_json(writable(group.name))},"id":{_json(writable(name))}',
        _field("amount", amounts, may_lack=Amount.NORMAL in option.amounts),
        _field("count", [str(n) for n in option.counts if 1 < n <= MAX_COUNT], may_lack=1 in option.counts),
        "}",
    )


def _off_menu_line(evidence: Evidence, off_menu: OffMenuEvidence) -> Node | None:
    heard = spans(evidence.transcript, off_menu.words)
    return _row(
        '{"kind":"not_on_menu","heard":',
        _text(f'"{text}"' for text in heard),
        ',"quantity":',
        _text(str(number) for number in off_menu.quantities),
        "}",
    ) if heard else None  # fmt: skip


def _list(slots: list[tuple[Node, int, bool]], most: int, *, empty: bool) -> Node | None:
    """Slots in their order, each up to its copies, required ones at least once; any of them, up to `most`,
    when there are more than that."""
    if sum(copies for _, copies, _ in slots) > most:
        slots = [(Any(tuple(node for node, _, _ in slots)), most, False)]
    after: list[Node] = [NOTHING]
    first: list[Node] = []
    for node, copies, required in reversed(slots):
        run: Node = NOTHING
        for _ in range(copies - 1):
            run = _maybe(_row(COMMA, node, run), lacking=True)
        here = _row(node, run, after[-1])
        first = [here] if required else [here, *first]
        follows = _row(COMMA, here)
        after.append(follows if required else Any((follows, after[-1])))
    if not any(required for _, _, required in slots) and empty:
        first.append(NOTHING)
    return _row("[", Any(tuple(first)), "]") if first else None


def _field(name: str, values: list[str], *, may_lack: bool) -> Node:
    if not values:
        return NOTHING
    return _maybe(_row(f',"{name}":', _text(values)), lacking=may_lack)


def _maybe(node: Node, *, lacking: bool) -> Node:
    return Any((node, NOTHING)) if lacking else node


def _row(*parts: str | Node) -> Node:
    return Row(tuple(_text([part]) if isinstance(part, str) else part for part in parts))


def _text(options: Iterable[str]) -> Text:
    return Text(tuple(option.encode() for option in options))


def _json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
