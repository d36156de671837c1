"""Pydantic's validation errors as sentences with JSON pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_PROBLEMS = 100
"""Problems listed in one answer."""

_FORMS = {
    "^[A-Z]{3}$": "must be three capital letters, such as USD",
    "^[a-z]{2}(-[A-Z]{2})?$": "must be a language, such as en or en-US",
    "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$": "must be letters, digits, and _ . : - (at most 64, no spaces)",
    r"^https://[^\s/\\]+(/[^\s\\]*)?$": "must be a URL that begins with https://",
    "^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$": "must be a time such as 07:30, from 00:00 to 24:00",
}
# By the type in Pydantic's name of an error, such as int_parsing.
_TYPES = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a time with its zone, such as 2026-01-31T17:00:00Z",
    "timezone": "a time with its zone, such as 2026-01-31T17:00:00Z",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
}
# By the whole name, filled in from its context.
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "string_too_long": "has over {max_length} characters",
    "string_pattern_mismatch": "is not in the right form, which is {pattern}",
    "too_long": "has more than {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "union_tag_invalid": "has a {discriminator} that is none of {expected_tags}",
    "union_tag_not_found": "lacks its {discriminator}",
}


def field_problems(problems: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return a (JSON pointer, sentence) for each of the first `errors()` of a validation; the document itself
    is ""."""
    # A list whose only entry is wrong is not empty, though Pydantic says so too.
    within = {one["loc"][:depth] for one in problems for depth in range(len(one["loc"]))}
    listed = [one for one in problems if one["type"] != "too_short" or one["loc"] not in within]
    return [
        (pointer(one["loc"]), sentence(one["type"], one["msg"], one.get("ctx", {})))
        for one in listed[:MAX_PROBLEMS]
    ]


def sentence(kind: str, message: str, context: dict[str, Any]) -> str:
    """Return one of Pydantic's errors in our words, or its own `message` where there are none."""
    least = context.get("min_length")
    if context.get("pattern") in _FORMS:
        return _FORMS[context["pattern"]]
    if kind == "string_too_short":
        return "must not be empty" if least == 1 else f"has fewer than {least} characters"
    if kind == "too_short":
        return "needs at least one entry" if least == 1 else f"has fewer than {least} entries"
    if kind in _WORDS:
        return _WORDS[kind].format(**context)
    named = _TYPES.get(kind.partition("_")[0])
    return f"must be {named}" if named else message.removeprefix("Value error, ")


def pointer(parts: Sequence[int | str]) -> str:
    """Return the JSON pointer (RFC 6901) of a place in a document."""
    named = (part for part in parts if part != "[key]")  # of a wrong key, after the key itself
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in named)
