"""Saved KV states of menu prompts in a folder, so that a restarted engine need not evaluate menus again.

A file's name depends on model, adapter and package, and its content is checked against a hash: llama.cpp
aborts the process on a malformed state. A file that can't be read or written only costs time. States contain
the menu's text, nothing that a customer said.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

log = structlog.get_logger()

MAX_BYTES = 1_000_000_000
"""About 25 menus of 1,400 tokens."""
_DIGEST = hashlib.sha256().digest_size


class StateFolder:
    """States of prompts, up to `max_bytes`; the least recently used is deleted first.

    Args:
        folder: holds nothing else; created with the first state.
        owner: identifies package, model and adapter.
    """

    def __init__(self, folder: Path, owner: str, max_bytes: int = MAX_BYTES) -> None:
        self._folder, self._owner, self._max_bytes = folder, owner, max_bytes

    def use(self, adapted: bool, tokens: Sequence[int]) -> bool:
        """Return True if there is a state of this prompt, evaluated with or without the adapter, and mark it
        as used."""
        try:
            os.utime(self._file(adapted, tokens))
        except OSError:
            return False
        return True

    def get(self, adapted: bool, tokens: Sequence[int]) -> bytes | None:
        """Return the state of a prompt, and mark it as used."""
        if not self.use(adapted, tokens):
            return None
        file = self._file(adapted, tokens)
        try:
            with file.open("rb", buffering=0) as saved:
                digest, state = saved.read(_DIGEST), saved.read()
            if hashlib.sha256(state).digest() == digest:
                return state
            log.warning("state.damaged", file=file.name)
        except OSError as error:
            log.warning("state.not_read", error=str(error))
        with suppress(OSError):
            file.unlink()  # otherwise it would not be written again
        return None

    def put(self, adapted: bool, tokens: Sequence[int], state: bytes) -> None:
        """Write a state, after deleting old ones if the folder is full."""
        file = self._file(adapted, tokens)
        unfinished = file.with_suffix(f".{os.getpid()}.part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_space(_DIGEST + len(state))
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(hashlib.sha256(state).digest())
                out.write(state)
            unfinished.rename(file)
        except OSError as error:
            log.warning("state.not_kept", error=str(error))
            with suppress(OSError):
                unfinished.unlink()

    def _make_space(self, needed: int) -> None:
        files = [(file.stat(), file) for file in self._folder.iterdir() if file.suffix in (".state", ".part")]
        total = needed + sum(stat.st_size for stat, _ in files)
        for stat, file in sorted(files, key=lambda entry: entry[0].st_mtime):
            if total <= self._max_bytes:
                break
            file.unlink(missing_ok=True)
            total -= stat.st_size

    def _file(self, adapted: bool, tokens: Sequence[int]) -> Path:
        key = f"{self._owner} {adapted} ".encode() + array("i", tokens).tobytes()
        return self._folder / f"{hashlib.sha256(key).hexdigest()}.state"
