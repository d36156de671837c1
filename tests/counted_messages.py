"""Count messages to the database: statements, begins, commits and rollbacks.

with counted(database) as messages: ...        # one database of this process
python -m tests.counted_messages services.api    # a child process: one line per message in file COUNTED_SQL
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


def listen(target: Any, on_message: Callable[[str], None]) -> Callable[[], None]:
    """Call `on_message` with the first word of each message that an engine (or `Engine`: every one) sends.
    Return a function that stops it.

    BEGIN is a statement of ours (`infra/sql/dialects.py`), which also sets the shop.
    """

    def statement(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        on_message(text.split(None, 1)[0].upper())

    def ends(word: str) -> Callable[[Any], None]:
        def end(connection: Any) -> None:
            if "saycart_begin" in connection.get_execution_options():
                on_message(word)

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
    """Messages of one database during the block, by first word."""
    messages: Counter[str] = Counter()
    stop = listen(database._engine, lambda word: messages.update([word]))
    try:
        yield messages
    finally:
        stop()


def to_file() -> None:
    """Append a line to the file `COUNTED_SQL` for each message of this process."""
    file = os.open(os.environ["COUNTED_SQL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    listen(Engine, lambda word: (os.write(file, f"{word}\n".encode()), None)[1])


if __name__ == "__main__":
    to_file()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
