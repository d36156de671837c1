"""Do these menus work with this model's own tokenizer? What `saycart doctor --engine` reports.

Everything here runs in process, by the llguidance of this installation; what only a server can show is asked
of it by the command itself. Times are this machine's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from schemas.menu import Menu
from schemas.writable import writable
from services.decoding.menu_names import Names
from services.decoding.server.vocabulary import Vocabulary
from services.decoding.wire_mask import wire_mask

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
    """One check: what was looked at, how it is, figures for machines, and how to fix it if it is a fault."""

    what: str
    said: str
    figures: dict[str, Any] = field(default_factory=dict)
    hint: str = ""


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
    control = vocabulary.marks
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


def _open(matcher: LLMatcher) -> Any:
    return np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
