"""Documents of other systems: models of what is read of them, and what is left over."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Self, get_args

from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InvalidMenu
from schemas.field_problems import field_problems, pointer


class Source(BaseModel):
    """A part of a vendor's document with the fields that are read."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls, document: object) -> Self:
        """Raises InvalidMenu with JSON pointers into the vendor's document."""
        try:
            return cls.model_validate(_without_nulls(document))
        except ValidationError as error:
            raise InvalidMenu([(place or "/", text) for place, text in field_problems(error)]) from None

    @classmethod
    def known_names(cls) -> Iterator[str]:
        """The names of all fields that are read, here and below."""
        for name, info in cls.model_fields.items():
            alias = info.validation_alias
            paths = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
            for path in paths:
                yield from map(str, path.path) if isinstance(path, AliasPath) else [path]
            for inner in _models(info.annotation):
                if inner is not cls:
                    yield from inner.known_names()


def at(*path: str, default: Any) -> Any:
    """A field that stands further below in the vendor's document."""
    return Field(default, validation_alias=AliasPath(*path))


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _models(annotation: object) -> Iterable[type[Source]]:
    if isinstance(annotation, type) and issubclass(annotation, Source):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def unread(
    value: object, known: Collection[str], way: tuple[str | int, ...] = ()
) -> Iterator[tuple[str, str]]:
    """(JSON pointer, name) of each field below that isn't known and isn't empty, but for keys of maps."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in known or key.isdecimal():
                yield from unread(part, known, (*way, key)) if key != "translations" else ()
            elif part:
                yield pointer((*way, key)), key
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from unread(part, known, (*way, index))
