"""What the reader's model has read, and the prompts of menus that it can take up again without reading them.

A menu's part of the prompt takes two cores half a minute, and is the same for every order of a menu version.
Its state, some 28 kB a token of the 1.5B, is kept in memory and in a folder, and taken up in milliseconds:
after an order of another menu, and after a restart. It holds the menu's words alone, nothing that a customer
said.

A file is good for the very model, adapter and package that wrote it (its name says so), and is believed only
as it was written: llama.cpp ends the process on a state that makes no sense.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from services.decoding.server.model import Llama, Logits

log = structlog.get_logger()

LEAST_TOKENS = 64
"""Shorter prompts are read as fast as their states are kept."""
MEMORY_BYTES = 512 * 2**20
_DIGEST = hashlib.sha256().digest_size


class Prefixes:
    """The one sequence of a model, with the prefixes that it can go back to.

    Args:
        model: its sequence is used here alone.
        folder: where states are kept beyond this process; None: nowhere.
        about: names model, adapter and package, whose states are not each other's (`use`).
        disk_bytes: the most that the folder may take; what was used longest ago goes first.
    """

    def __init__(
        self,
        model: Llama,
        folder: Path | None = None,
        *,
        about: str = "",
        memory_bytes: int = MEMORY_BYTES,
        disk_bytes: int = 0,
    ) -> None:
        self.model = model
        self._folder = folder if disk_bytes else None
        self._about = about.encode()
        self._room, self._disk_room = memory_bytes, disk_bytes
        self._held: list[int] = []
        self._shared = 0  # so many are the menu's, once all is read
        self._aside: tuple[bytes, list[int], bytes] = (b"", [], b"")
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def take_up(self, prompt: Sequence[int], shared: int) -> int:
        """How many tokens of `prompt` need not be read; the model has read these and no others. The first
        `shared` of it may be known from before."""
        common = common_length(self._held, prompt)
        if common >= shared:
            self._used(self._key(prompt[:shared]))
        else:
            self._put_aside(common)
            self._restore(prompt[:shared], common)
            common = common_length(self._held, prompt)
        self._shared = shared
        # The last token is read in any case: what comes after it is asked for.
        common = min(common, len(prompt) - 1)
        self.cut(common)
        return common

    def knows(self, menu: Sequence[int]) -> bool:
        """Whether this menu can be taken up whole."""
        return common_length(self._held, menu) == len(menu) or self._state(menu) is not None

    def use(self, about: str) -> None:
        """Go on with another model, whose states are not those of before."""
        self._put_aside(0)
        self.cut(0)
        self._about = about.encode()

    def read(self, tokens: Sequence[int], wanted: int = 0) -> Logits:
        """Read on, one batch at most; raises as `Llama.read`, and nothing is read then."""
        try:
            logits = self.model.read(tokens, len(self._held), wanted)
        except Exception:
            self.cut(0)
            raise
        self._held.extend(tokens)
        return logits

    def cut(self, at: int) -> None:
        """Forget what was read from position `at` on."""
        self.model.cut(at)
        del self._held[at:]

    def keep(self) -> None:
        """What was read so far is a menu's prompt, to be had again."""
        key = self._key(self._held)
        if len(self._held) < LEAST_TOKENS or key in self._kept:
            return
        state = self.model.state()
        self._remember(key, state)
        if self._folder is not None:
            self._write(self._folder / f"{key.hex()}.state", state)

    def _restore(self, menu: Sequence[int], common: int) -> None:
        """Take up a state of this menu, whole or begun, with more tokens than `common`; else all stays."""
        about, begun, partial = self._aside
        tokens, state = list(menu), self._state(menu)
        ours = about == self._about
        if state is None and ours and common < len(begun) == common_length(begun, menu):
            tokens, state = begun[:], partial
        if state is not None:
            self._held = tokens if self.model.restore(state) else []

    def _put_aside(self, common: int) -> None:
        """A menu whose reading was called off is gone on with, though another's order came between."""
        if len(self._held) < self._shared and len(self._held) - common >= LEAST_TOKENS:
            self._aside = (self._about, self._held[:], self.model.state())

    def _state(self, prefix: Sequence[int]) -> bytes | None:
        if len(prefix) < LEAST_TOKENS:
            return None
        key = self._key(prefix)
        if key in self._kept:
            self._used(key)
            return self._kept[key]
        state = self._read_file(key)
        if state is not None:
            self._remember(key, state)
        return state

    def _used(self, key: bytes) -> None:
        """What was used longest ago goes first, from memory and from the folder."""
        if key in self._kept:
            self._kept.move_to_end(key)
        if self._folder is not None:
            with suppress(OSError):
                os.utime(self._folder / f"{key.hex()}.state")

    def _remember(self, key: bytes, state: bytes) -> None:
        self._kept[key] = state
        while sum(map(len, self._kept.values())) > self._room and len(self._kept) > 1:
            self._kept.popitem(last=False)

    def _key(self, tokens: Sequence[int]) -> bytes:
        return hashlib.sha256(self._about + array("i", tokens).tobytes()).digest()

    def _read_file(self, key: bytes) -> bytes | None:
        if self._folder is None:
            return None
        file = self._folder / f"{key.hex()}.state"
        try:
            data = file.read_bytes()
            os.utime(file)
        except OSError:
            return None
        state = data[_DIGEST:]
        if hashlib.sha256(state).digest() == data[:_DIGEST]:
            return state
        log.warning("prefix.damaged", file=file.name)
        file.unlink(missing_ok=True)
        return None

    def _write(self, file: Path, state: bytes) -> None:
        """A full disk costs the next start its time and nothing else."""
        unfinished = file.with_suffix(f".{os.getpid()}.part")
        try:
            self._make_room(len(state))
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(hashlib.sha256(state).digest() + state)
            unfinished.rename(file)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            log.warning("prefix.not_kept", error=str(error))

    def _make_room(self, needed: int) -> None:
        assert self._folder is not None
        files = sorted((one.stat().st_mtime, one.stat().st_size, one) for one in self._folder.iterdir())
        taken = sum(size for _, size, _ in files) + needed + _DIGEST
        for _, size, file in files:
            if taken <= self._disk_room:
                break
            file.unlink(missing_ok=True)
            taken -= size


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))
