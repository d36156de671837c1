"""The model's KV cache, and saved states of menu prompts that it can return to.

A menu's prompt takes half a minute on two cores, and is the same for every order of a menu version. Its state
is kept in a folder (`state_folder.py`). Restoring it takes milliseconds: after an order from another menu,
and after a restart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from cachetools import TTLCache

from services.decoding.server.model import Llama, Row
from services.decoding.server.state_folder import StateFolder

MIN_TOKENS = 64
"""Shorter prompts are not saved: they are evaluated as fast as restored."""
MAX_PARTIAL = 4
"""States of partial menus in memory; the oldest is dropped first."""
RETRY_S = 3.0
"""When to request a new menu again while another is being evaluated."""
ABANDONED_S = 120.0
"""A partial menu is dropped if it is not requested for this long."""

Key = tuple[bool, tuple[int, ...]]


class PrefixCache:
    """The model's only sequence, with the prefixes that it can return to.

    Args:
        model: must not be used elsewhere.
        states: of whole menus.
        adapted: True if the adapter is enabled (`set_adapter`): cached tokens depend on it.
    """

    def __init__(self, model: Llama, states: StateFolder, *, adapted: bool = True) -> None:
        self.model, self.adapted = model, adapted
        self._states = states
        self._tokens: list[int] = []  # in the model's KV cache
        self._menu_length = 0  # of the current prompt
        self._evaluated_at = -math.inf
        self._partial: TTLCache[Key, bytes] = TTLCache(MAX_PARTIAL, ABANDONED_S)
        self._next: tuple[Key, bytes] | None = None  # read by `has`, for `resume`

    def resume(self, prompt: Sequence[int], shared: int) -> int:
        """Bring the KV cache to the longest known prefix of `prompt`, and return its length. The first
        `shared` tokens are the menu's."""
        common = common_length(self._tokens, prompt)
        if common < shared:
            self._save_partial(common)
            self._restore(prompt[:shared], common)
            common = common_length(self._tokens, prompt)
        else:
            self._states.use(self.adapted, prompt[:shared])
        self._menu_length = shared
        # The last token is always evaluated, for the logits after it.
        common = min(common, len(prompt) - 1)
        self.truncate(common)
        return common

    def has(self, menu: Sequence[int]) -> bool:
        """Return True if the whole menu is cached."""
        if common_length(self._tokens, menu) == len(menu):
            return True
        state = self._states.get(self.adapted, menu)
        self._next = None if state is None else (self._key(menu), state)
        return state is not None

    def may_prefill(self, menu: Sequence[int]) -> bool:
        """Return True unless another new menu is being evaluated: one at a time, since each comes back at
        once for its next chunk, and several would leave no gap for orders of known menus."""
        unfinished = len(self._tokens) < self._menu_length
        active = unfinished and time.monotonic() < self._evaluated_at + ABANDONED_S
        current = [self._tokens] if active else []
        return all(len(part) == common_length(part, menu) for part in (*current, *self._partial_menus()))

    def set_adapter(self, *, on: bool) -> None:
        """Enable or disable the adapter."""
        if on != self.adapted:
            self._save_partial(0)
            self.truncate(0)
            self.model.set_adapter(on=on)
            self.adapted = on

    def evaluate(self, tokens: Sequence[int], rows: int = 0) -> list[Row]:
        """Append at most one batch of tokens; see `Llama.evaluate`. After an error the cache is as before."""
        try:
            logits = self.model.evaluate(tokens, len(self._tokens), rows)
        except Exception:
            self.truncate(len(self._tokens))
            raise
        self._tokens.extend(tokens)
        self._evaluated_at = time.monotonic()
        return logits

    def truncate(self, length: int) -> None:
        """Drop the tokens from position `length`."""
        self.model.truncate(length)
        del self._tokens[length:]

    def store(self) -> None:
        """Save the current state as a menu's."""
        if len(self._tokens) >= MIN_TOKENS and not self._states.use(self.adapted, self._tokens):
            self._states.put(self.adapted, self._tokens, self.model.state())

    def _restore(self, menu: Sequence[int], common: int) -> None:
        """Restore the menu's state, or a partial one of more than `common` tokens, if there is one."""
        tokens, read, self._next = tuple(menu), self._next, None
        found = read is not None and read[0] == self._key(menu)
        state = read[1] if read and found else self._states.get(self.adapted, menu)
        if state is None:
            begun = [part for part in self._partial_menus() if len(part) == common_length(part, menu)]
            tokens = max(begun, key=len, default=())
            if len(tokens) > common:
                state = self._partial.pop(self._key(tokens), None)
        if state is not None:
            self._tokens = list(tokens) if self.model.restore(state) else []

    def _partial_menus(self) -> list[tuple[int, ...]]:
        return [tokens for adapted, tokens in self._partial if adapted == self.adapted]

    def _save_partial(self, common: int) -> None:
        """Save the state of an unfinished menu, unless `common` tokens, all of it, stay in use."""
        if common < len(self._tokens) < self._menu_length:
            self._partial[self._key(self._tokens)] = self.model.state()

    def _key(self, tokens: Sequence[int]) -> Key:
        return self.adapted, tuple(tokens)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    for length, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return length
    return min(len(a), len(b))
