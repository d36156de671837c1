"""A copy of a whole database in one file, made while it is used, and put back into an empty one.

SQLite copies itself, as of one moment. PostgreSQL's own `pg_dump` and `pg_restore` do the work
there: they have to be on the PATH, and as new as the server.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sqlalchemy import inspect
from sqlalchemy.engine import URL

from infra.sql import row_security
from infra.sql.database import Database


class DumpFailed(Exception):
    """The copy could not be made, or not be put back; says why."""

    hint = "Nothing was changed."


def name_of(url: URL) -> str:
    """What a copy is called, by the kind of its database."""
    return "saycart.db" if url.get_backend_name() == "sqlite" else "saycart.pgdump"


def dump(url: URL, file: Path) -> None:
    """Write what the database holds at one moment into a new file. Writers do not wait for it.

    Raises:
        DumpFailed: see there.
    """
    if url.get_backend_name() != "sqlite":
        # pg_dump refuses where policies might leave rows out. As for all shops they leave out none.
        _run("pg_dump", url, ["--format=custom", "--no-owner", "--enable-row-security", f"--file={file}"])
        return
    try:
        with closing(sqlite3.connect(f"file:{url.database}?mode=ro", uri=True, timeout=30)) as source:
            # One reader's snapshot. The backup API begins again whenever another process writes meanwhile.
            source.execute("VACUUM INTO ?", (str(file),))
        with closing(sqlite3.connect(file)) as copy:
            if (found := copy.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
                raise DumpFailed(f"the copy is damaged: {found}")
    except sqlite3.Error as error:
        raise DumpFailed(f"SQLite: {error}") from error
    _sync(file)


def load(file: Path, url: URL) -> None:
    """Put a copy into a database that has no tables.

    Raises:
        DumpFailed: it has some, or as above; what is there then is not to be used.
    """
    database = Database(url.render_as_string(hide_password=False))
    try:
        if url.get_backend_name() != "sqlite":
            with database.glance() as session:
                tables = inspect(session.connection()).get_table_names()
            if tables:
                raise DumpFailed(f"the database has tables already, such as {tables[0]}")
            _run("pg_restore", url, ["--exit-on-error", "--no-owner", "--single-transaction", str(file)])
            return
    finally:
        database.close()
    target = Path(str(url.database))
    if target.exists():
        raise DumpFailed(f"{target} is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f"{target.name}.restoring")
    shutil.copyfile(file, half)
    _sync(half)
    half.rename(target)


def sha256(file: Path) -> str:
    """Of a file's bytes, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _sync(file: Path) -> None:
    with file.open("rb") as written:
        os.fsync(written.fileno())


def _run(program: str, url: URL, arguments: list[str]) -> None:
    """One of PostgreSQL's programs on a database. The password goes by the environment: everybody may read a
    command line."""
    found = shutil.which(program)
    if found is None:
        raise DumpFailed(f"{program} is not on the PATH (Debian's postgresql-client has it)")
    every_row = f"-c {row_security.SETTING}={row_security.EVERYWHERE}"
    environment = os.environ | {"PGOPTIONS": f"{os.environ.get('PGOPTIONS', '')} {every_row}".strip()}
    environment |= {"PGPASSWORD": url.password} if url.password else {}
    where = url.set(drivername="postgresql", password=None).render_as_string()
    done = subprocess.run(
        [found, f"--dbname={where}", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DumpFailed(f"{program}: {done.stderr.strip()[-500:]}")
