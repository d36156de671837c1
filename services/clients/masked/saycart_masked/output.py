"""Output types: a grammar, compiled once to check it, and a function that parses its texts.

    OutputType.of(Ticket)                        a Pydantic model, as JSON
    OutputType.by_grammar(lark, ...)             any other language, in llguidance's Lark

Cost: 2 ms for a small model, so reuse it; each call compiles the grammar again, in 0.6 ms here and in the
server. A grammar of a few thousand words takes 35 ms.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from llguidance import LLMatcher, LLTokenizer
from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from .bounds import bounded
from .errors import AnswerRejected, UnmaskableModel
from .scores import values

BYTES = LLTokenizer("byte")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Mask:
    """`lark` is the grammar in llguidance's Lark, `version` its digest, and `longest` the size in bytes of
    its longest text: an upper limit for the tokens of any answer."""

    lark: str
    version: str
    longest: int

    def accepts(self, text: str) -> bool:
        """Return True if `text` is complete and inside the mask."""
        matcher = LLMatcher(BYTES, self.lark)
        try:
            tokens = BYTES.tokenize_str(text)
        except UnicodeEncodeError:  # a lone surrogate, from JSON's \u
            return False
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    def walker(self, tokens: LLTokenizer = BYTES) -> Callable[[str], bool]:
        """Return a function that tests if a text can be written with these tokens; compiles the grammar
        once."""
        fresh = LLMatcher(tokens, self.lark)

        def allows(text: str) -> bool:
            matcher = fresh.deep_copy()
            for token in tokens.tokenize_str(text):
                # A forced continuation is tokenized by the server.
                open_to = matcher.compute_ff_bytes() or _has(matcher.compute_bitmask(), token)
                if not open_to or matcher.try_consume_tokens([token]) != 1:
                    return False
            return bool(matcher.is_accepting())

        return allows

    def texts(self, rng: random.Random, on: float = 0.0) -> Iterator[bytes]:
        """Yield random texts, endlessly. Where a text may end or continue, it continues with probability
        `on`."""
        matcher = LLMatcher(BYTES, self.lark)
        while True:
            text = bytearray()
            while not matcher.is_accepting() or rng.random() < on:
                bits = matcher.compute_bitmask()
                if not (allowed := [byte for byte in range(256) if _has(bits, byte)]):
                    break
                text.append(rng.choice(allowed))
                matcher.consume_token(text[-1])
            yield bytes(text)
            matcher.reset()

    def problem(self) -> str:
        """Return llguidance's error for the grammar; empty if it compiles."""
        return LLMatcher.validate_grammar(self.lark) or LLMatcher(BYTES, self.lark).get_error() or ""


@dataclass(frozen=True, slots=True)
class OutputType(Generic[T]):
    """`read` parses a text that `mask` allows, and may raise `AnswerRejected`. `schema` is the bounded JSON
    Schema; None for another grammar."""

    mask: Mask
    read: Callable[[str], T]
    schema: dict[str, Any] | None = None

    @staticmethod
    def of(model: type[M]) -> OutputType[M]:
        """Return the output type of a model: JSON with its fields in order, without spaces.

        Raises:
            UnmaskableModel: lists every place that can't be bounded or expressed, and the fix.
        """
        try:
            schema = model.model_json_schema()
        except PydanticInvalidForJsonSchema as error:
            raise UnmaskableModel([("/", f"it has no JSON Schema: {error.message}")]) from None
        closed, longest = bounded(schema)
        return OutputType(mask_of(closed, longest), _reader(model), closed)

    @staticmethod
    def by_grammar(lark: str, longest: int, read: Callable[[str], T]) -> OutputType[T]:
        """Return the output type of a grammar in llguidance's Lark, whose longest text has `longest` bytes.

        Raises:
            UnmaskableModel: llguidance refuses the grammar; includes its error.
        """
        return OutputType(_checked(lark, longest), read)


def mask_of(schema: dict[str, Any], longest: int) -> Mask:
    """Return the mask of a bounded JSON Schema; raises UnmaskableModel as `OutputType.by_grammar`."""
    how = {"x-guidance": {"whitespace_flexible": False}}
    return _checked(f"start: %json {json.dumps(schema | how, ensure_ascii=False)}", longest)


def _has(bits: bytes, token: int) -> bool:
    return bool(bits[token >> 3] >> (token & 7) & 1)


def _checked(rules: str, longest: int) -> Mask:
    lark = f"%llguidance {{}}\n{rules}\n"
    mask = Mask(lark, hashlib.sha256(lark.encode()).hexdigest()[:16], longest)
    if problem := mask.problem():
        raise UnmaskableModel([("/", f"its grammar does not compile: {problem:.300}")])
    return mask


def _reader(model: type[M]) -> Callable[[str], M]:
    def read(text: str) -> M:
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            without_texts = _without_texts_of(text)
            problems = [
                ("".join(f"/{step}" for step in one["loc"]) or "/", without_texts(one["msg"]))
                for one in error.errors(include_url=False, include_context=False, include_input=False)
            ]
            raise AnswerRejected(problems, quoted=text[:200]) from None

    return read


def _without_texts_of(answer: str) -> Callable[[str], str]:
    """Return a function that redacts the answer's texts in a validator's message, which may quote a
    customer."""
    texts = {json.loads(answer[begin:end]) for begin, end in values(answer) if answer[begin] == '"'}
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True) if text.strip())
    return lambda sentence: re.sub(rf"(?<!\w)(?:{any_of})(?!\w)", "…", sentence) if any_of else sentence
