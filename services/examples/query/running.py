"""Queries on a real SQLite that can't write, and when two of them say the same: by their rows."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import permutations
from pathlib import Path

Row = tuple[object, ...]

MOST_STEPS = 20_000_000
"""Of SQLite's machine, a second or so: free text may join everything with everything."""
STEPS_A_LOOK = 100_000
MOST_ROWS = 20_000
READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})


def refusal(statements: str, sql: str) -> str:
    """What SQLite has against this query of empty tables, which `statements` make; empty where it runs."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(statements)
        connection.set_authorizer(_reading)
        rows(connection, sql)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # a NUL within is a ValueError
        return str(error) or type(error).__name__
    finally:
        connection.close()
    return ""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, opened read-only, and with nothing but reading allowed, whatever it is asked to do."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.set_authorizer(_reading)
        yield connection
    finally:
        connection.close()


def rows(connection: sqlite3.Connection, sql: str) -> list[Row]:
    """What the query finds.

    Raises:
        sqlite3.Error: it is no query of these tables, would write, or goes on for too long.
    """
    looks = iter(range(MOST_STEPS // STEPS_A_LOOK))
    connection.set_progress_handler(lambda: next(looks, None) is None, STEPS_A_LOOK)
    found = connection.execute(sql).fetchmany(MOST_ROWS + 1)
    if len(found) > MOST_ROWS:
        raise sqlite3.OperationalError(f"more than {MOST_ROWS} rows")
    return found


def _reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def same(found: Sequence[Row], gold: Sequence[Row], *, ordered: bool) -> bool:
    """Whether these are the same rows, as often each, and in the same order where one was asked for.

    Columns may stand in another order, the same for all rows; none may be missing or too many. Numbers are
    equal up to a thousandth: sums of fractions differ with the order that they are added in.
    """
    if len(found) != len(gold):
        return False
    if not gold:
        return True
    width = len(gold[0])
    if len(found[0]) != width:
        return False
    wanted = [_rounded(row) for row in gold]
    have = [_rounded(row) for row in found]
    for order in permutations(range(width)):
        turned = [tuple(row[column] for column in order) for row in have]
        if turned == wanted or (not ordered and Counter(turned) == Counter(wanted)):
            return True
    return False


def _rounded(row: Row) -> Row:
    return tuple(round(float(value), 3) if isinstance(value, int | float) else value for value in row)


class Judge:
    """Holds queries against gold on several databases of one form, since two queries that say different
    things may find the same on one.

    `build` writes the database of a seed to a file. Files live in a temporary folder, as long as the process.
    """

    def __init__(self, build: Callable[[Path, int], None], seeds: Sequence[int]) -> None:
        self._build = build
        self._seeds = seeds
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.rows = lru_cache(maxsize=4096)(self._rows)

    def right(self, sql: str, gold: str, *, ordered: bool) -> bool:
        """Whether it finds what `gold` finds in every database; raises as `rows`."""
        return all(
            same(found, wanted, ordered=ordered)
            for found, wanted in zip(self.rows(sql), self.rows(gold), strict=True)
        )

    def _rows(self, sql: str) -> list[list[Row]]:
        found = []
        for path in self._files():
            with opened(path) as connection:
                found.append(rows(connection, sql))
        return found

    def _files(self) -> list[Path]:
        made = self._folder is None
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="saycart-query-")
        files = [Path(self._folder.name) / f"{seed}.db" for seed in self._seeds]
        if made:
            for path, seed in zip(files, self._seeds, strict=True):
                self._build(path, seed)
        return files
