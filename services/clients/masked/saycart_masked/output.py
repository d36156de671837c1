"""What an answer may be: a grammar, checked before it serves, and how its texts are read.

    OutputType.of(Ticket)                        a Pydantic model, as JSON
    OutputType.by_schema("ticket", schema)       a JSON Schema, read as plain values
    OutputType.by_grammar("query", lark, ...)    any other language, in llguidance's Lark

Cost: 2 ms for a small model, so keep one that is used often; each call compiles the grammar again, here in
0.6 ms and in the server. A grammar of some thousand words takes 35 ms.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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

    def walker(self, tokens: LLTokenizer = BYTES) -> Callable[[str], bool]:
        """Return what tells whether a text can be written by these tokens, each allowed when its turn comes;
        the grammar is compiled once."""
        fresh = LLMatcher(tokens, self.lark)

        def allows(text: str) -> bool:
            matcher = fresh.deep_copy()
            for token in tokens.tokenize_str(text):
                # What alone can follow, a server writes in tokens of its own.
                open_to = matcher.compute_ff_bytes() or _has(matcher.compute_bitmask(), token)
                if not open_to or matcher.try_consume_tokens([token]) != 1:
                    return False
            return bool(matcher.is_accepting())

        return allows

    def texts(self, rng: random.Random, on: float = 0.0) -> Iterator[bytes]:
        """Yield whole texts without end, their bytes drawn from those allowed. Where a text may end or go
        on, it goes on with probability `on`."""
        matcher = LLMatcher(BYTES, self.lark)
        while True:
            text = bytearray()
            while not matcher.is_accepting() or rng.random() < on:
                bits = matcher.compute_bitmask()
                if not (ways := [byte for byte in range(256) if _has(bits, byte)]):
                    break
                text.append(rng.choice(ways))
                matcher.consume_token(text[-1])
            yield bytes(text)
            matcher.reset()

    def problem(self) -> str:
        """Return what llguidance has against the grammar; empty where it compiles."""
        return LLMatcher.validate_grammar(self.lark) or LLMatcher(BYTES, self.lark).get_error() or ""


@dataclass(frozen=True, slots=True)
class OutputType(Generic[T]):
    """`read` turns a text that `mask` allows into a value, and raises `AnswerRejected` where it can't.
    `schema` is the bounded JSON Schema; None for a grammar that is not JSON."""

    name: str
    mask: Mask
    read: Callable[[str], T]
    schema: dict[str, Any] | None = None

    @property
    def version(self) -> str:
        """A digest of the grammar."""
        return self.mask.version

    @staticmethod
    def of(model: type[M]) -> OutputType[M]:
        """Return the JSON of `model`: its fields in the model's own order, without spaces.

        Raises:
            UnmaskableModel: with every place that can't be bounded or expressed, and what to write there.
        """
        try:
            schema = model.model_json_schema()
        except PydanticInvalidForJsonSchema as error:
            raise UnmaskableModel([("/", f"it has no JSON Schema: {error.message}")]) from None
        return replace(OutputType.by_schema(model.__name__, schema), read=_reader(model))

    @staticmethod
    def by_schema(name: str, schema: dict[str, Any]) -> OutputType[Any]:
        """Return the JSON of a JSON Schema, its objects closed and their fields in its order; raises as
        `of`."""
        closed, longest = bounded(schema)
        how = {"x-guidance": {"whitespace_flexible": False}}
        lark = f"start: %json {json.dumps(closed | how, ensure_ascii=False)}"
        return OutputType(name, _checked(lark, longest), json.loads, closed)

    @staticmethod
    def by_grammar(name: str, lark: str, longest: int, read: Callable[[str], T]) -> OutputType[T]:
        """Return the texts of a grammar in llguidance's Lark, the longest of `longest` bytes.

        Raises:
            UnmaskableModel: llguidance refuses the grammar; its words are passed on.
        """
        return OutputType(name, _checked(lark, longest), read)


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
    """Return what replaces the answer's texts in a validator's sentence, which may repeat what a customer
    wrote and is shown where that should not be."""
    texts = {json.loads(answer[begin:end]) for begin, end in values(answer) if answer[begin] == '"'}
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True) if text.strip())
    return lambda sentence: re.sub(rf"(?<!\w)(?:{any_of})(?!\w)", "…", sentence) if any_of else sentence
