"""Migrations from 0013 on: squawk looks at what they run on PostgreSQL, and each says whom it serves."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from infra.sql.migrating import as_sql
from infra.sql.revisions import MIGRATIONS, TablesTooOld, known
from tests.processes.later_release import later_release

LINTED_FROM = "0013"
# Rule of squawk -> why it is off.
OFF = {
    "prefer-robust-stmts": "it asks for IF NOT EXISTS, which a constraint does not have: steps.py looks "
    "first, and what is no step of its own runs in a transaction",
    "require-statement-timeout": "what holds a lock is over in an instant or waits for one, which the lock "
    "timeout ends; what takes long (CONCURRENTLY, VALIDATE, rows that are filled in) may",
}
EVERY_STEP = """
steps.add_column("orders", sa.Column("table_number", sa.BigInteger))
steps.add_column("orders", sa.Column("tip", sa.BigInteger, nullable=False, server_default="0"))
steps.add_index("ix_orders_tip", "orders", ["tip"], where="tip > 0")
steps.add_check("tip_is_no_debt", "orders", "tip >= 0")
steps.add_foreign_key("audit_log_shop", "audit_log", "shop_id", "shops.id")
steps.drop_index("ix_orders_listing", "orders")
"""


def complaints(sql: str) -> str:
    """What squawk says of it; empty when nothing. Its wheel puts the program beside the interpreter."""
    program = [
        Path(sys.executable).parent / "squawk",
        "--pg-version=13",
        *(f"--exclude={rule}" for rule in OFF),
    ]
    ran = subprocess.run(program, input=sql, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def linted(capsys: pytest.CaptureFixture[str]) -> str:
    before = max(revision for revision in known() if revision < LINTED_FROM)
    as_sql(before)
    return capsys.readouterr().out


def test_new_migrations_lock_nobody_out(capsys: pytest.CaptureFixture[str]) -> None:
    sql = linted(capsys)
    assert "CREATE TABLE schema_versions" in sql
    assert complaints(sql) == ""


def test_every_step_of_ours_is_fit_for_tables_in_use(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with later_release(tmp_path, EVERY_STEP):
        sql = linted(capsys)
    assert "CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_orders_tip" in sql
    assert complaints(sql) == ""


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ('op.create_index("ix", "orders", ["language"])', "require-concurrent-index-creation"),
        (
            'op.execute("ALTER TABLE orders ADD CHECK (version > 0)")',
            "constraint-missing-not-valid",
        ),
        ('op.alter_column("orders", "version", type_=sa.BigInteger)', "changing-column-type"),
    ],
)
def test_what_would_lock_them_out_is_found(
    step: str, rule: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with later_release(tmp_path, step):
        assert rule in complaints(linted(capsys))


@pytest.mark.parametrize(
    "column",
    [
        'sa.Column("tip", sa.Integer, nullable=False)',
        'sa.Column("tip", sa.DateTime, server_default=sa.func.clock_timestamp())',
        'sa.Column("tip", sa.String, sa.ForeignKey("shops.id"))',
    ],
)
def test_a_column_that_writes_the_table_anew_is_refused(column: str, tmp_path: Path) -> None:
    with (
        later_release(tmp_path, f'steps.add_column("orders", {column})'),
        pytest.raises(ValueError, match="tip"),
    ):
        as_sql("0012")


def test_files_are_named_by_their_revisions_and_say_whom_they_serve() -> None:
    before = None
    for file in sorted(MIGRATIONS.glob("versions/v[0-9]*.py")):
        migration = importlib.import_module(f"infra.migrations.versions.{file.stem}")
        assert file.stem.startswith(f"v{migration.revision}_")
        assert migration.down_revision == before
        if migration.revision >= LINTED_FROM:
            assert migration.serves_from in known()
        before = migration.revision


def test_what_looks_at_rows_can_not_be_printed() -> None:
    with pytest.raises(TablesTooOld, match="can't be printed"):
        as_sql("0007")
