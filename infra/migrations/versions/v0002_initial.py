"""Creates all tables (`initial/*.sql`), and the policies by which PostgreSQL keeps shops apart."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from infra.migrations.policies import BY_ORDER, BY_REVIEW, BY_SHOP, BY_STAFF, NAMED_SHOP, add_policy

revision = "0002"
down_revision = None
branch_labels = None
depends_on = None

_SQL = Path(__file__).resolve().parents[1] / "initial"
_TIME = {"sqlite": "DATETIME", "postgresql": "TIMESTAMP WITH TIME ZONE"}
_BELONGS = {
    BY_SHOP: (
        "api_keys",
        "audit_log",
        "idempotency",
        "menus",
        "orders",
        "reviews",
        "staff",
        "turns",
        "webhook_endpoints",
    ),
    BY_ORDER: ("order_events", "outbox"),
    BY_REVIEW: ("review_records",),
    BY_STAFF: (
        "staff_challenges",
        "staff_oidc",
        "staff_recovery_codes",
        "staff_sessions",
        "staff_totp",
    ),
}


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    for file in ("shops", "orders", dialect):
        # Split at blank lines: triggers and functions contain semicolons.
        for statement in (_SQL / f"{file}.sql").read_text(encoding="utf-8").split("\n\n"):
            op.execute(statement.replace("{time}", _TIME[dialect]).rstrip(";\n "))
    for belongs, tables in _BELONGS.items():
        for table in tables:
            add_policy(table, belongs)
    add_policy("shops", f"id = {NAMED_SHOP}")
