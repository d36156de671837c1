"""What an answer may be: a grammar, checked before it serves, and what its texts are read as.

    OutputType.of(Ticket)                        a Pydantic model, as JSON
    OutputType.by_grammar("query", lark, ...)    any other language, in llguidance's Lark

Cost: 2 ms for a small model, once a process (`output_type` keeps them); each call compiles the grammar again,
here in 0.6 ms and in the server.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from schemas.errors import AnswerRefused, UnmaskableSchema
from services.decoding.mask import Mask
from services.decoding.masked.bounds import bounded

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class OutputType(Generic[T]):
    """`read` makes a value of a text that `mask` allows, and raises `AnswerRefused` where it means nothing.
    `schema` is the bounded JSON Schema; None where the text is no JSON, but another language."""

    name: str
    mask: Mask
    read: Callable[[str], T]
    schema: dict[str, Any] | None = None

    @property
    def version(self) -> str:
        """Changes when and only when the grammar does."""
        return self.mask.version

    @staticmethod
    def of(model: type[M]) -> OutputType[M]:
        """JSON of `model`, its fields in the model's own order, without spaces.

        Raises:
            UnmaskableSchema: the schema can't be bounded or held, with every place and what to write there.
        """
        try:
            schema, longest = bounded(model.model_json_schema())
        except PydanticInvalidForJsonSchema as error:
            raise UnmaskableSchema([("/", f"it has no JSON Schema: {error.message}")]) from None
        how = {"x-guidance": {"whitespace_flexible": False}}
        lark = f"start: %json {json.dumps(schema | how, ensure_ascii=False)}"
        return OutputType(model.__name__, _checked(lark, longest), _reader(model), schema)

    @staticmethod
    def by_grammar(name: str, lark: str, longest: int, read: Callable[[str], T]) -> OutputType[T]:
        """Texts of a grammar in llguidance's Lark, the longest of `longest` bytes: its author has to
        bound it, and say so.

        Raises:
            UnmaskableSchema: llguidance refuses the grammar; its words are passed on.
        """
        return OutputType(name, _checked(lark, longest), read)


@lru_cache(maxsize=256)
def output_type(model: type[M]) -> OutputType[M]:
    """`OutputType.of`, made once for each model."""
    return OutputType.of(model)


def _checked(rules: str, longest: int) -> Mask:
    lark = f"%llguidance {{}}\n{rules}\n"
    mask = Mask(lark, hashlib.sha256(lark.encode()).hexdigest()[:16], longest)
    if problem := mask.problem():
        raise UnmaskableSchema([("/", f"its grammar does not compile: {problem:.300}")])
    return mask


def _reader(model: type[M]) -> Callable[[str], M]:
    def read(text: str) -> M:
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            without_words = _words(text)
            problems = [
                ("".join(f"/{step}" for step in one["loc"]) or "/", without_words(one["msg"]))
                for one in error.errors(include_url=False, include_context=False, include_input=False)
            ]
            raise AnswerRefused(problems, quoted=text[:200]) from None

    return read


def _words(text: str) -> Callable[[str], str]:
    """What takes the texts of an answer out of a sentence about it: a validator's own words may repeat what a
    customer said, and go where that should not."""
    try:
        held = sorted(set(_texts(json.loads(text))), key=len, reverse=True)
    except ValueError:  # no JSON, of a model without a mask; then the sentence says no more than that
        return lambda sentence: sentence
    any_of = "|".join(re.escape(one) for one in held if one.strip())
    return lambda sentence: re.sub(rf"(?<!\w)(?:{any_of})(?!\w)", "…", sentence) if any_of else sentence


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, names of fields left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
