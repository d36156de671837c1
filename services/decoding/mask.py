"""A grammar ready to be sent to a decode server, and to be held against what comes back.

Cost: to compile one takes llguidance 1 ms for a cart, 35 ms for a 60-item menu with all of it open.
"""

from __future__ import annotations

from dataclasses import dataclass

from llguidance import LLMatcher, LLTokenizer

from schemas.errors import DecodeInvalid

BYTES = LLTokenizer("byte")


@dataclass(frozen=True, slots=True)
class Mask:
    """`lark` is the grammar, in llguidance's Lark. `longest` is the size in bytes of the longest text that it
    allows, and so, at one byte a token, the number of tokens within which any allowed text ends."""

    lark: str
    version: str
    longest: int

    def accepts(self, text: str) -> bool:
        """Is `text` whole and inside the mask? Checked on what came back, since a server may ignore it."""
        matcher = LLMatcher(BYTES, self.lark)
        try:
            tokens = BYTES.tokenize_str(text)
        except UnicodeEncodeError:  # half a surrogate pair, as JSON's \u may spell it
            return False
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    def problem(self) -> str:
        """What llguidance has against the grammar, in its own words; empty where it compiles."""
        return LLMatcher.validate_grammar(self.lark) or LLMatcher(BYTES, self.lark).get_error() or ""

    def compile(self) -> None:
        """Raises `DecodeInvalid` where a server would drop the mask in silence."""
        if problem := LLMatcher.validate_grammar(self.lark):
            raise DecodeInvalid("The mask does not compile", quoted=problem[:300])

    def check(self, text: str) -> None:
        """Raises `DecodeInvalid` where a server's answer is outside the mask."""
        if not self.accepts(text):
            raise DecodeInvalid("The server's answer is outside the mask", quoted=text[:200])
