"""The file that marks a process as ready, if `SAYCART_READY_FILE` names one."""

from __future__ import annotations

import os
from pathlib import Path


class ReadyFile:
    """Touched by `beat`, so that its age is the time since the last work; removed by `remove`."""

    def __init__(self) -> None:
        name = os.environ.get("SAYCART_READY_FILE")
        self._file = Path(name) if name else None

    def beat(self) -> None:
        if self._file:
            self._file.touch()

    def remove(self) -> None:
        if self._file:
            self._file.unlink(missing_ok=True)
