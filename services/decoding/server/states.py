"""States of menus in a folder: a restart of the engine takes each up in milliseconds, in place of reading it.

A file is good for the model, adapter and package that wrote it, which its name says, and is believed only as
it was written: llama.cpp ends the process on a state that makes no sense. What can't be read or written costs
time and nothing else. States hold the menu's words alone, nothing that a customer said.
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

MOST_BYTES = 1_000_000_000
"""Some 25 menus of 1,400 tokens."""
_DIGEST = hashlib.sha256().digest_size


class StateFolder:
    """States of prompts, up to `most_bytes`; the one that was used longest ago goes first.

    Args:
        folder: is created with the first state, and holds nothing else.
        about: names package, model and adapter, whose states are not each other's.
    """

    def __init__(self, folder: Path, about: str, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._about, self._room = folder, about, most_bytes

    def get(self, adapted: bool, tokens: Sequence[int]) -> bytes | None:
        """Return the state of these tokens, read with the adapter at work or without it."""
        file = self._file(adapted, tokens)
        try:
            data = file.read_bytes()
            os.utime(file)
            if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                return data[_DIGEST:]
            log.warning("state.damaged", file=file.name)
            file.unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            log.warning("state.not_read", error=str(error))
        return None

    def put(self, adapted: bool, tokens: Sequence[int], state: bytes) -> None:
        """Write a state, and make room for it first."""
        file = self._file(adapted, tokens)
        unfinished = file.with_suffix(f".{os.getpid()}.part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_room(_DIGEST + len(state))
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(hashlib.sha256(state).digest())
                out.write(state)
            unfinished.rename(file)
        except OSError as error:
            log.warning("state.not_kept", error=str(error))
            with suppress(OSError):
                unfinished.unlink()

    def used(self, adapted: bool, tokens: Sequence[int]) -> None:
        """Count a state as used now, though it was taken up from memory."""
        with suppress(OSError):
            os.utime(self._file(adapted, tokens))

    def _make_room(self, needed: int) -> None:
        files = [(file.stat(), file) for file in self._folder.iterdir() if file.suffix in (".state", ".part")]
        taken = needed + sum(about.st_size for about, _ in files)
        for about, file in sorted(files, key=lambda one: one[0].st_mtime):
            if taken <= self._room:
                break
            file.unlink(missing_ok=True)
            taken -= about.st_size

    def _file(self, adapted: bool, tokens: Sequence[int]) -> Path:
        key = f"{self._about} {adapted} ".encode() + array("i", tokens).tobytes()
        return self._folder / f"{hashlib.sha256(key).hexdigest()}.state"
