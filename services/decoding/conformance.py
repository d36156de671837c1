"""Do this schema and this menu work with this model's own tokenizer? What `saycart doctor --engine` reports.

Everything here runs in process, by the llguidance of this installation; what only a server can show is asked
of it by the command itself. Times are this machine's.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from schemas.menu import Menu
from schemas.writable import writable
from services.decoding.hosts.vocabulary import Vocabulary
from services.decoding.mask import BYTES, Mask
from services.decoding.menu_names import Names
from services.decoding.spelling import SCHEMA
from services.decoding.wire_mask import wire_mask

# What the mask's walk reads, and what says nothing of the text. A keyword outside both is not held.
HELD = frozenset(
    "$defs $ref additionalProperties const default items maxItems maxLength maximum minLength minimum oneOf "
    "properties required type x-aligned x-each x-implied x-key x-named-by x-told-by x-values "
    "x-where".split()
)
NOTES = frozenset("description discriminator title".split())
# A choice of plain types is a value's own (`str | None`), and its values come from `x-values`.
CHOICES = frozenset({"anyOf", "enum"})

# Each feature of llguidance that the mask uses, as a grammar, and the only texts that it allows.
FEATURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "one of several": ('start: "qu" ("ix" | "ox") "otry"', ("quixotry", "quoxotry")),
    "may be left out": ('start: "quix" ("ix")? "otry"', ("quixotry", "quixixotry")),
    "bounded repetition": ('start: "qu" ("ix"){2,2} "otry"', ("quixixotry",)),
    "rules by name": ('start: word\nword: "quix" "otry"', ("quixotry",)),
    "word spans": (
        'start: S\nS: W & /.{8}/\nW: %regex {"substring_chunks": ["quix", "otry"]}',
        ("quixotry",),
    ),
    "past ASCII": ('start: "quïx🍵otry"', ("quïx🍵otry",)),
    "escapes": (r'start: "\"quix\\otry\""', ('"quix\\otry"',)),
}

# Strings that a careless tokenizer or mask loses a byte of.
AWKWARD = (
    "café", "cafe\u0301", "crème brûlée", "🍵", "👨‍👩‍👧", "🇫🇷", "½ ﬁ ß", "中文", "שלום", "مرحبا",
    '"quoted"', "back\\slash",
    "2", " two", "two", "don't", "10,000", "a/b", "x" * 60,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """One check: what was looked at, how it is, figures for machines, and how to mend it if it is a fault."""

    what: str
    said: str
    figures: dict[str, Any] = field(default_factory=dict)
    hint: str = ""


def schema_features() -> Result:
    """Whether the mask's walk knows every keyword of the schema."""
    used = set(_keywords(SCHEMA))
    unknown = sorted(used - HELD - NOTES - CHOICES)
    figures = {"held": sorted(used & HELD), "not_held": unknown}
    if unknown:
        hint = "Teach services/decoding/spelling.py the keyword, or take it out of schemas/cart.py."
        return Result("schema", f"the mask does not hold {', '.join(unknown)}", figures, hint)
    return Result("schema", f"{len(figures['held'])} keywords, all of them held by the mask", figures)


def grammar_features(tokens: LLTokenizer) -> Result:
    """Whether llguidance takes, with this tokenizer, all that our grammars are written with."""
    failed = [
        name
        for name, (lark, texts) in FEATURES.items()
        if not all(takes(tokens, whole(lark), text) for text in texts)
    ]
    figures = {"supported": sorted(FEATURES.keys() - set(failed)), "failed": failed}
    if failed:
        hint = "Install the llguidance of requirements.lock: `make setup`."
        return Result("grammar", f"fails: {', '.join(failed)}", figures, hint)
    return Result("grammar", f"{len(FEATURES)} features of llguidance, each does as it should", figures)


def whole(lark: str) -> str:
    return f"%llguidance {{}}\n{lark}\n"


def takes(tokens: LLTokenizer, lark: str, text: str) -> bool:
    """Whether `text` can be said and ended, token by token, each in the mask when its turn comes."""
    matcher = LLMatcher(tokens, lark)
    for token in tokens.tokenize_str(text):
        if not (matcher.compute_ff_bytes() or _open(matcher)[token]) or not matcher.consume_token(token):
            return False
    return bool(matcher.is_accepting())


def marks(vocabulary: Vocabulary, menu: Menu) -> Result:
    """Control marks of this model that a menu's name, as the model has to write it, still holds."""
    spelled = Names(menu)
    options = (choice.name for item in menu.items for choice in spelled.choices(item))
    names = [*spelled.items.values(), *spelled.sizes.values(), *options]
    control = [
        token["content"] for token in json.loads(vocabulary.document)["added_tokens"] if token["special"]
    ]
    left = [mark for mark in control if writable(mark) == mark]
    held = sorted({name for name in names for mark in left if mark in name})
    figures = {"control": len(control), "not_taken_apart": left, "names": held}
    if held:
        return Result(
            f"names of {menu.id}",
            f"{held[0]!r} holds a control mark of this model, and would end an answer",
            figures,
            "Rename it in the menu.",
        )
    return Result(f"names of {menu.id}", f"none holds one of the {len(control)} control marks", figures)


def strings(tokens: LLTokenizer, menu: Menu) -> Result:
    """Awkward strings there and back: through the tokenizer, and through the mask as a customer's words."""
    lost = []
    for text in map(writable, AWKWARD):
        spelled = tokens.tokenize_str(text)
        said = text.strip()  # as `heard` is
        heard = json.dumps(said, ensure_ascii=False)
        line = f'{{"lines":[{{"not_on_menu":{heard}}}]}}'
        lark = wire_mask(Names(menu), said).lark
        pieces = [token for byte in line.encode() for token in tokens.tokenize_bytes(bytes([byte]))]
        matcher = LLMatcher(tokens, lark)
        if not (
            tokens.decode_bytes(spelled) == text.encode()
            and takes(tokens, lark, line)
            and matcher.consume_tokens(pieces)
            and matcher.is_accepting()
        ):
            lost.append(text)
    figures = {"tried": len(AWKWARD), "lost": lost}
    if lost:
        hint = "Serve a model with a byte-level tokenizer, which may compose accents and nothing more."
        return Result("strings", f"lost: {', '.join(map(repr, lost))}", figures, hint)
    return Result("strings", f"{len(AWKWARD)} awkward ones come back whole, also in single bytes", figures)


def numbers(tokens: LLTokenizer, menu: Menu) -> Result:
    """Where a quantity stands, "2" is open, and neither "two" nor " two", " 2" or a string is."""
    start = '{"lines":[{"not_on_menu":"lattes","quantity":'
    lark = wire_mask(Names(menu), "two lattes").lark
    taken = {}
    for text in ("2", "two", " two", " 2", '"2"', "02", "2.0"):
        matcher = LLMatcher(tokens, lark)
        matcher.consume_tokens(tokens.tokenize_str(start))
        spelled = tokens.tokenize_str(text)
        taken[text] = matcher.try_consume_tokens(spelled) == len(spelled)
    if [text for text, allowed in taken.items() if allowed] != ["2"]:
        hint = "Install the llguidance of requirements.lock, and serve a byte-level tokenizer."
        return Result("numbers", f"the mask opens {taken}", {"open": taken}, hint)
    return Result("numbers", 'where "2" is open, "two", " two" and " 2" are not', {"open": taken})


def timings(tokens: LLTokenizer, menu: Menu, orders: Iterable[str], seed: int = 0) -> Result:
    """Compile and mask times, and tokens that the mask forces, over one random cart of each order."""
    rng, names = random.Random(seed), Names(menu)  # noqa: S311  # a sample, no secret
    compiled: list[float] = []
    masked: list[float] = []
    forced = count = 0
    for transcript in orders:
        mask = wire_mask(names, transcript)
        compiled.append(_timed(partial(LLMatcher, tokens, mask.lark)))
        matcher = LLMatcher(tokens, mask.lark)
        for token in tokens.tokenize_bytes(any_text(mask, rng)):
            forced += bool(matcher.compute_ff_bytes())
            count += 1
            masked.append(_timed(matcher.compute_bitmask))
            matcher.consume_token(token)
        if not matcher.is_accepting():
            hint = "Run `make fuzz`, and keep its words: this is a fault in saycart or in llguidance."
            return Result(f"decode of {menu.id}", f"a cart is refused: {transcript!r}", {}, hint)
    an_order, a_token = _percentiles(compiled, 1e3), _percentiles(masked, 1e6)
    share = round(forced / count, 3) if count else 0.0
    said = (
        f"compiles in {an_order['p50']:.1f} ms an order (p99 {an_order['p99']:.1f}); "
        f"mask {a_token['p50']:.0f} µs a token (p99 {a_token['p99']:.0f}); "
        f"{share:.0%} of {count} tokens forced"
    )
    figures = {
        "compile_ms": an_order,
        "mask_us": a_token,
        "tokens": count,
        "forced_share": share,
        "orders": len(compiled),
    }
    return Result(f"decode of {menu.id}", said, figures)


def any_text(mask: Mask, rng: random.Random) -> bytes:
    """A whole text that the mask allows, its bytes chosen at random."""
    return next(any_texts(mask, rng))


def any_texts(mask: Mask, rng: random.Random, on: float = 0.0) -> Iterator[bytes]:
    """Such texts without end, of a grammar compiled once. Where a text may end and may go on as well, it goes
    on with probability `on`."""
    matcher = LLMatcher(BYTES, mask.lark)
    while True:
        text = bytearray()
        while not matcher.is_accepting() or (on and rng.random() < on):
            if not (ways := np.nonzero(_open(matcher)[:256])[0].tolist()):
                break
            byte = rng.choice(ways)
            matcher.consume_token(byte)
            text.append(byte)
        yield bytes(text)
        matcher.reset()


def _open(matcher: LLMatcher) -> Any:
    return np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")


def _timed(act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _percentiles(seconds: list[float], scale: float) -> dict[str, float]:
    if not seconds:
        return {"p50": 0.0, "p99": 0.0}
    return {f"p{p}": round(float(np.percentile(seconds, p)) * scale, 3) for p in (50, 99)}


def _keywords(schema: Any) -> Iterator[str]:
    """Every keyword of a JSON Schema, names of properties and definitions left out."""
    if isinstance(schema, list):
        for part in schema:
            yield from _keywords(part)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        yield key
        if key in ("properties", "$defs"):
            for part in value.values():
                yield from _keywords(part)
        elif key not in ("default", "const", "enum", "discriminator"):
            yield from _keywords(value)
