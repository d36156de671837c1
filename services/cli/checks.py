"""One line of `saycart doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schemas.errors import SaycartError

Check = tuple[str, str, str]
"""Part, state, and fix, which is empty when all is well."""


def checked(what: str, attempt: Callable[[], str], fix: str) -> Iterator[Check]:
    """Yield the state that `attempt` returns, or its error with what fixes it."""
    try:
        yield what, attempt(), ""
    except SaycartError as error:
        yield what, error.detail, error.hint
    except Exception as error:
        yield what, str(error)[:200] or repr(error), fix
