"""A later release's migrations: ours, and one more that a test writes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.sql import migrating, revisions

LATER = "9001"
_HEAD = '''"""Of a later release."""

import sqlalchemy as sa
from alembic import op

from infra.migrations import steps

revision = "{revision}"
down_revision = "{down}"
branch_labels = None
depends_on = None
serves_from = "{serves_from}"


def upgrade() -> None:
'''


@contextmanager
def later_release(
    folder: Path, steps: str, *, serves_from: str | None = None, revision: str = LATER
) -> Iterator[None]:
    """As long as the block lasts this process is a release with one migration more; `steps` is its body.
    `serves_from`: whom it serves, by default the release that we are."""
    ours = revisions.known()[-1]
    made = folder / f"migrations-{revision}"
    shutil.copytree(revisions.MIGRATIONS, made)
    head = _HEAD.format(revision=revision, down=ours, serves_from=serves_from or ours)
    body = "".join(f"    {line}\n" for line in steps.strip().splitlines())
    (made / "versions" / f"v{revision}_later.py").write_text(
        head + body + "\n\ndef downgrade() -> None: ...\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", made)
        patch.setattr(revisions, "MIGRATIONS", made)
        revisions.known.cache_clear()
        try:
            yield
        finally:
            patch.undo()
            revisions.known.cache_clear()
