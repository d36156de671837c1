"""Counts what goes over the wire to the database: statements, begins, commits and rollbacks, each a message.

with counted(database) as messages: ...        # one database of this process
python -m tests.counted_messages services.api    # a child: a line for each message in the file COUNTED_SQL
"""

from __future__ import annotations

import os
import runpy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from infra.sql.database import Database


def listen(target: Any, told: Callable[[str], None]) -> Callable[[], None]:
    """Tell the first word of each message that `target`, an engine or the class of all, sends; how to stop.

    Transactions begin by a statement of ours (`infra/sql/dialects.py`), in which a shop is named too; a
    glance, which is none, names it in the message of its statement.
    """

    def statement(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        told(text.split(None, 1)[0].upper())

    def ends(word: str) -> Callable[[Any], None]:
        def end(connection: Any) -> None:
            if "saycart_begin" in connection.get_execution_options():
                told(word)

        return end

    listeners = [
        ("before_cursor_execute", statement), ("commit", ends("COMMIT")), ("rollback", ends("ROLLBACK")),
    ]  # fmt: skip
    for name, listener in listeners:
        event.listen(target, name, listener)

    def stop() -> None:
        for name, listener in listeners:
            event.remove(target, name, listener)

    return stop


@contextmanager
def counted(database: Database) -> Iterator[Counter[str]]:
    """Messages of one database while the block runs, by their first word."""
    messages: Counter[str] = Counter()
    stop = listen(database._engine, lambda word: messages.update([word]))
    try:
        yield messages
    finally:
        stop()


def to_file() -> None:
    """A line in the file `COUNTED_SQL` for each message of every database of this process."""
    file = os.open(os.environ["COUNTED_SQL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    listen(Engine, lambda word: (os.write(file, f"{word}\n".encode()), None)[1])


if __name__ == "__main__":
    to_file()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
