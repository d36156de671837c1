"""The audit log: one chain of entries a shop, which is only ever added to (ADR 41)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# An entry must be its chain's next. On SQLite this also stops INSERT OR REPLACE, which takes a row away
# without asking the triggers of DELETE.
_SQLITE = [
    """
        CREATE TRIGGER audit_log_next BEFORE INSERT ON audit_log
        WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM audit_log WHERE shop_id = NEW.shop_id), 0)
          OR NEW.previous <> coalesce(
            (SELECT hash FROM audit_log WHERE shop_id = NEW.shop_id ORDER BY seq DESC LIMIT 1),
            printf('%064d', 0))
        BEGIN SELECT RAISE(ABORT, 'audit_log: an entry follows the newest one of its shop'); END
    """,
    """
        CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
        BEGIN SELECT RAISE(ABORT, 'audit_log: entries are never changed'); END
    """,
    """
        CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
        BEGIN SELECT RAISE(ABORT, 'audit_log: entries are never removed'); END
    """,
]

_POSTGRESQL = [
    """
        CREATE FUNCTION audit_log_next() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE newest record;
        BEGIN
            SELECT seq, hash INTO newest FROM audit_log
            WHERE shop_id = NEW.shop_id ORDER BY seq DESC LIMIT 1;
            IF NEW.seq <> 1 + coalesce(newest.seq, 0)
               OR NEW.previous <> coalesce(newest.hash, repeat('0', 64)) THEN
                RAISE EXCEPTION 'audit_log: an entry follows the newest one of its shop'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$
    """,
    """
        CREATE FUNCTION audit_log_stays() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'audit_log: entries are never changed or removed'
                USING ERRCODE = 'integrity_constraint_violation';
        END $$
    """,
    """
        CREATE TRIGGER audit_log_next BEFORE INSERT ON audit_log
        FOR EACH ROW EXECUTE FUNCTION audit_log_next()
    """,
    """
        CREATE TRIGGER audit_log_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
        FOR EACH STATEMENT EXECUTE FUNCTION audit_log_stays()
    """,
]


def upgrade() -> None:
    # Text, `at` too: each column is hashed as it stands, whatever a driver or a session's zone makes of it.
    op.create_table(
        "audit_log",
        sa.Column("shop_id", sa.String, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("address", sa.String),
        sa.Column("request_id", sa.String),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("object_type", sa.String, nullable=False),
        sa.Column("object_id", sa.String, nullable=False),
        sa.Column("before", sa.String),
        sa.Column("after", sa.String),
        sa.Column("previous", sa.String, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
    )
    op.create_index("ix_audit_log_at", "audit_log", ["at"])
    op.create_index("ix_audit_log_object", "audit_log", ["object_type", "object_id"])
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit_log")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_log_next")
        op.execute("DROP FUNCTION audit_log_stays")
