"""One line of `saycart doctor`."""

from __future__ import annotations

from collections.abc import Callable

from infra.weights.lock import ModelError
from schemas.errors import SaycartError

Check = tuple[str, str, str]
"""Part, state, and fix, which is empty when all is well."""


def checked(what: str, attempt: Callable[[], str], fix: str) -> Check:
    """Return the state that `attempt` returns, or its error with what fixes it."""
    try:
        return what, attempt(), ""
    except (SaycartError, ModelError) as error:
        return what, error.detail, error.hint or fix
    except Exception as error:
        return what, str(error)[:200] or repr(error), fix
