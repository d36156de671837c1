"""Caches of a process, bounded by bytes: a count says little where one entry may be a thousand times
another.

Bytes are estimates of the caller: to weigh Python's objects takes longer than to make them again.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Thing = TypeVar("Thing")


class Bounded(Generic[Key, Value]):
    """What was used last, up to `most` bytes; the newest entry stays, however large. Safe between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._guard = threading.Lock()
        self.bytes = 0
        """What is kept now, as far as its makers told."""

    def find(self, key: Key) -> Value | None:
        """What is kept under a key, which is then the last used; None where nothing is."""
        with self._guard:
            if (found := self._kept.get(key)) is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep `value`, of about `size` bytes, and let go of what was not used for longest."""
        with self._guard:
            if (old := self._kept.pop(key, None)) is not None:
                self.bytes -= old[1]
            self._kept[key] = (value, size)
            self.bytes += size
            while self.bytes > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self.bytes -= gone

    def clear(self) -> None:
        """Let go of everything."""
        with self._guard:
            self._kept.clear()
            self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)


class Once(Generic[Thing, Value]):
    """`tell(thing)`, once in the life of each thing, which must never change. By identity: equal things are
    known to be equal only after a look at all of both."""

    def __init__(self, tell: Callable[[Thing], Value]) -> None:
        self._tell = tell
        self._told: dict[int, tuple[weakref.ref[Thing], Value]] = {}

    def of(self, thing: Thing) -> Value:
        """What `tell` says, or said; raises what it raises."""
        number = id(thing)
        if (known := self._told.get(number)) is not None and known[0]() is thing:
            return known[1]
        value = self._tell(thing)
        self._told[number] = (weakref.ref(thing, lambda _: self._told.pop(number, None)), value)
        return value


class Alike(Generic[Thing, Value]):
    """`make(thing)`, once for all things whose `fingerprint` is the same, kept up to `most` bytes.

    A thing must never change. `size` tells how many bytes are made of it. Two threads that come at once make
    it once.
    """

    def __init__(
        self,
        fingerprint: Callable[[Thing], str],
        make: Callable[[Thing], Value],
        size: Callable[[Thing], int],
        most: int,
    ) -> None:
        self._make, self._size = make, size
        self._key = Once(fingerprint)
        # In a tuple, so that None can be kept as well.
        self._made: Bounded[str, tuple[Value]] = Bounded(most)
        self._making = threading.RLock()

    def of(self, thing: Thing) -> Value:
        """What was made of a thing like this one, or is made now; raises what `make` raises."""
        key = self._key.of(thing)
        if (known := self._made.find(key)) is None:
            with self._making:
                if (known := self._made.find(key)) is None:
                    known = (self._make(thing),)
                    self._made.keep(key, known, self._size(thing))
        return known[0]

    def clear(self) -> None:
        """Forget all that was made."""
        self._made.clear()
