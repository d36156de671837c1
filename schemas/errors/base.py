"""Root of the error tree, and what its branches share."""

from __future__ import annotations

import math


def again(wait_s: float) -> str:
    """Return the end of a sentence: when to try again."""
    return f"try again in {max(1, math.ceil(wait_s))} s"


class SaycartError(Exception):
    """Root of the tree. `detail` is one sentence for a person; `hint` says what to do about it.

    `detail` is logged, so it never holds customer words or an answer based on them: those go into `quoted`,
    which only reviewers read. `wait_s`: seconds until it makes sense to try again, where known. `title`: what
    it is about, where the title of its code says less.
    """

    code = "internal"
    retryable = False
    hint = "This is a bug in saycart. Look up the request id in the logs."
    wait_s: float | None = None
    title: str | None = None

    def __init__(
        self,
        detail: str,
        *,
        hint: str | None = None,
        quoted: str = "",
        wait_s: float | None = None,
        title: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.quoted = quoted
        self.hint = self.hint if hint is None else hint
        self.wait_s = self.wait_s if wait_s is None else wait_s
        self.title = self.title if title is None else title

    @property
    def whole(self) -> str:
        """Return `detail` with `quoted`, for a reviewer and never for logs."""
        return f"{self.detail}: {self.quoted}" if self.quoted else self.detail
