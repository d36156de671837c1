"""What the model has read, and the prompts of menus that it can take up again without reading them.

A menu's part of the prompt takes two cores half a minute, and is the same for every order of a menu version.
Its state, some 28 kB a token of the 1.5B, is kept in memory and in a folder (`states.py`), and taken up in
milliseconds: after an order of another menu, and after a restart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress

from cachetools import Cache, LRUCache, TTLCache

from services.decoding.server.model import Llama, Row
from services.decoding.server.states import StateFolder

LEAST_TOKENS = 64
"""Shorter prompts are read as fast as their states are kept."""
MEMORY_BYTES = 512 * 2**20
AGAIN_S = 3.0
"""After so long another new menu is to be asked for again."""
ABANDONED_S = 120.0
"""A half-read menu that is not asked for again is forgotten after so long."""

Key = tuple[bool, tuple[int, ...]]


class Prefixes:
    """The one sequence of a model, with the prefixes that it can go back to.

    Args:
        model: its sequence is used here alone.
        states: where states are kept beyond this process; None: nowhere.
        adapted: its adapter is at work (`use`): what was read with it is of no use without it.
        memory_bytes: the most that states of menus in memory may take, and as much again those of half-read
            ones; the one that was used longest ago goes first.
    """

    def __init__(
        self,
        model: Llama,
        states: StateFolder | None = None,
        *,
        adapted: bool = True,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.model, self.adapted = model, adapted
        self._states = states
        self._held: list[int] = []
        self._shared = 0  # so many are the menu's, once all is read
        self._read_at = -math.inf
        self._kept: LRUCache[Key, bytes] = LRUCache(memory_bytes, getsizeof=len)
        self._half_read: TTLCache[Key, bytes] = TTLCache(memory_bytes, ABANDONED_S, getsizeof=len)

    def take_up(self, prompt: Sequence[int], shared: int) -> int:
        """How many tokens of `prompt` need not be read; the model has read these and no others. The first
        `shared` of it may be known from before."""
        common = common_length(self._held, prompt)
        if common < shared:
            self._put_aside(common)
            self._restore(prompt[:shared], common)
            common = common_length(self._held, prompt)
        else:
            self._state(prompt[:shared])  # counts as used
        self._shared = shared
        # The last token is read in any case: what comes after it is asked for.
        common = min(common, len(prompt) - 1)
        self.cut(common)
        return common

    def knows(self, menu: Sequence[int]) -> bool:
        """Whether this menu can be taken up whole."""
        return common_length(self._held, menu) == len(menu) or self._state(menu) is not None

    def has_room(self, menu: Sequence[int]) -> bool:
        """Whether a new menu may be read now: one at a time. Its order comes back at once for the next piece,
        and with several such the orders of known menus would hardly get in between."""
        going_on = len(self._held) < self._shared and time.monotonic() < self._read_at + ABANDONED_S
        held = [self._held] if going_on else []
        return all(len(part) == common_length(part, menu) for part in (*held, *self._parts()))

    def use(self, *, adapted: bool) -> None:
        """Go on with the adapter at work, or without it."""
        if adapted != self.adapted:
            self._put_aside(0)
            self.cut(0)
            self.model.adapt(on=adapted)
            self.adapted = adapted

    def read(self, tokens: Sequence[int], wanted: int = 0) -> list[Row]:
        """Read on, one batch at most; raises as `Llama.read`, and what was read before stays."""
        try:
            logits = self.model.read(tokens, len(self._held), wanted)
        except Exception:
            self.cut(len(self._held))
            raise
        self._held.extend(tokens)
        self._read_at = time.monotonic()
        return logits

    def cut(self, at: int) -> None:
        """Forget what was read from position `at` on."""
        self.model.cut(at)
        del self._held[at:]

    def keep(self) -> None:
        """What was read so far is a menu's prompt, to be had again."""
        key = self._key(self._held)
        if len(self._held) < LEAST_TOKENS or self._kept.get(key) is not None:
            return
        state = self.model.state()
        _remember(self._kept, key, state)
        if self._states is not None:
            self._states.put(self.adapted, self._held, state)

    def _restore(self, menu: Sequence[int], common: int) -> None:
        """Take up a state of this menu, whole or begun, with more tokens than `common`; else all stays."""
        tokens, state = tuple(menu), self._state(menu)
        if state is None:
            begun = [part for part in self._parts() if len(part) == common_length(part, menu)]
            tokens = max(begun, key=len, default=())
            if len(tokens) > common:
                state = self._half_read.pop(self._key(tokens), None)
        if state is not None:
            self._held = list(tokens) if self.model.restore(state) else []

    def _state(self, menu: Sequence[int]) -> bytes | None:
        """Return the state of this menu, from memory or from the folder, and count it as used."""
        key = self._key(menu)
        if (state := self._kept.get(key)) is not None:
            if self._states is not None:
                self._states.used(*key)
            return state
        if self._states is None or len(menu) < LEAST_TOKENS:
            return None
        state = self._states.get(self.adapted, menu)
        if state is not None:
            _remember(self._kept, key, state)
        return state

    def _parts(self) -> list[tuple[int, ...]]:
        return [tokens for adapted, tokens in self._half_read if adapted == self.adapted]

    def _put_aside(self, common: int) -> None:
        """Keep what was read of a half-read menu: its reading goes on after another's order."""
        if common < len(self._held) < self._shared:
            _remember(self._half_read, self._key(self._held), self.model.state())

    def _key(self, tokens: Sequence[int]) -> Key:
        return self.adapted, tuple(tokens)


def _remember(states: Cache[Key, bytes], key: Key, state: bytes) -> None:
    with suppress(ValueError):  # larger than the whole cache
        states[key] = state


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))
