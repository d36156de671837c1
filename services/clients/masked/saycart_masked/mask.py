"""A grammar to send to a decode server, and to check its answers against.

Cost: llguidance compiles a small JSON schema in 1 ms, a grammar of some thousand words in 35 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

from llguidance import LLMatcher, LLTokenizer

BYTES = LLTokenizer("byte")


@dataclass(frozen=True, slots=True)
class Mask:
    """`lark` is the grammar in llguidance's Lark, `version` names it. `longest` is the size in bytes of the
    longest text that it allows, and so, at one byte a token, of tokens within which any text ends."""

    lark: str
    version: str
    longest: int

    def accepts(self, text: str) -> bool:
        """Return whether `text` is whole and inside the mask."""
        matcher = LLMatcher(BYTES, self.lark)
        try:
            tokens = BYTES.tokenize_str(text)
        except UnicodeEncodeError:  # half a surrogate pair, as JSON's \u may spell it
            return False
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    def problem(self) -> str:
        """Return what llguidance has against the grammar; empty where it compiles."""
        return LLMatcher.validate_grammar(self.lark) or LLMatcher(BYTES, self.lark).get_error() or ""
