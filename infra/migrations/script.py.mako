"""${message}"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations import steps

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None
# The oldest revision whose release may work on these tables: an earlier one where this only adds (expand),
# the one that stopped using what this takes away where it takes away (contract). See docs/upgrades.md.
serves_from = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
