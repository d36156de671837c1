"""The file by which a process says that it can take work, where `SAYCART_READY_FILE` names one."""

from __future__ import annotations

import os
from pathlib import Path


class ReadyFile:
    """Made or touched by `beat`, whose age then tells how long ago this process was at work; `gone` when it
    takes no more."""

    def __init__(self) -> None:
        name = os.environ.get("SAYCART_READY_FILE")
        self._file = Path(name) if name else None

    def beat(self) -> None:
        if self._file:
            self._file.touch()

    def gone(self) -> None:
        if self._file:
            self._file.unlink(missing_ok=True)
