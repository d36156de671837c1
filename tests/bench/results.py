"""Answers to a bench's questions, in one JSON file that a run which was cut off goes on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Results:
    """What was found so far, by the question's name; each answer is written as soon as it is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def ask(self, name: str, answer: Callable[[], Any]) -> Any:
        """The answer that the file has, or a new one."""
        if name not in self.found:
            self.found[name] = answer()
            self._write()
            print(name, json.dumps(self.found[name])[:300], flush=True)
        return self.found[name]

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.found, indent=1) + "\n")
