"""Hooks of schemathesis: two checks of our own, and the failures that are correct behaviour.

`SAYCART_FUZZ_SCOPES` has the scopes of this run's key; empty for none.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

from tests.openapi import SECRET

HELD = frozenset(os.environ.get("SAYCART_FUZZ_SCOPES", "").split())

# Bodies that match the schema but are refused: problem code, pattern of its detail, reason.
RULES = (
    ("unknown_menu", "", "menus are data"),
    ("invalid_menu", "", "ids, names and sizes of a menu have to agree with each other"),
    ("invalid_cart", "", "a cart is held against its order's menu"),
    ("unsupported_audio", "", "its bytes decide"),
    ("audio_empty", "", "OpenAPI can't bound the length of a file"),
    ("invalid_input", "NUL character", "no database of ours holds one"),
    ("invalid_input", "page cursor", "only what was handed out is one"),
    ("invalid_input", "not every reader keeps", "whole numbers end at 2^53 - 1 wherever they stand"),
    ("invalid_input", "metadata", "depth, number and size in bytes have no keyword"),
    ("invalid_input", "`(cart|reject)` ", "which fields go with which decision"),
    ("invalid_input", "with `answers`", "what is asked by its id, or in words with answers"),
    ("invalid_input", "(text|answers).*(control or invisible|be empty)", "a question is one printed line"),
    ("invalid_input", "reads the same|language", "one of the menu's own"),
    ("invalid_input", "must be a whole number", "JSON Schema takes 2.0 for one, our readers do not"),
    ("idempotency_mismatch", "", "the key was used for another order before"),
)


@schemathesis.hook
def filter_failure(context: Any, failure: Failure, case: Any, response: Any) -> bool:
    """Return False for a failure that is correct behaviour."""
    try:
        problem = json.loads(response.content)
        code, detail = problem["code"], problem["detail"]
    except (ValueError, KeyError, TypeError):
        return True
    if isinstance(failure, UnsupportedMethodResponse):
        # A GET with a body is refused before routing.
        return not (response.status_code == 400 and case.method in ("GET", "HEAD"))
    if isinstance(failure, RejectedPositiveData):
        return not any(code == named and re.search(words, detail) for named, words, _ in RULES)
    return True


@schemathesis.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """Shorten long polls to half a second."""
    if query and isinstance(wait := query.get("wait"), int | float) and 0 < wait <= 30:
        return query | {"wait": min(wait, 0.5)}
    return query


@schemathesis.check
def kept_out(ctx: Any, response: Any, case: Any) -> None:
    """Check that calls fail if the key lacks their scopes."""
    asked = {
        scope
        for way in case.operation.definition.raw.get("security", [])
        for s in way.values()
        for scope in s
    }
    if asked - HELD:
        assert response.status_code >= 400, f"{response.status_code} without {asked - HELD}"


@schemathesis.check
def other_shop_unseen(ctx: Any, response: Any, case: Any) -> None:
    """Check that no response has data of the other shop."""
    assert SECRET.encode() not in response.content, "a word of another shop"
