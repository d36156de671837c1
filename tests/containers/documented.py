"""Commands that docs/containers.md gives, as they stand there."""

from __future__ import annotations

import re

from infra.settings import REPOSITORY


def backups() -> list[str]:
    """The two blocks of a backup: out, and back in."""
    text = (REPOSITORY / "docs/containers.md").read_text().partition("**Backups.**")[2]
    return re.findall(r"```sh\n(.*?)```", text.partition("**An upgrade.**")[0], re.DOTALL)
