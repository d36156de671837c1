"""The product's API, which also counts its transactions where another process can read the count.

    SAYCART_BENCH_COUNT=FILE python tests/bench/database/waiting_api.py

Run by its path, so that `PYTHONPATH` says which checkout's API it is.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import Any

from sqlalchemy import Engine, event

from services.api import __main__ as api


def count_into(path: str) -> None:
    """Keep the number of transactions begun in the first eight bytes of a file."""
    with open(path, "r+b") as file:
        kept = mmap.mmap(file.fileno(), 8)
    begun = 0

    @event.listens_for(Engine, "begin")
    def _count(_connection: Any) -> None:
        nonlocal begun
        begun += 1
        struct.pack_into("<Q", kept, 0, begun)


if __name__ == "__main__":
    count_into(os.environ["SAYCART_BENCH_COUNT"])
    api.main()
