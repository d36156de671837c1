"""Caches of a process: bounded by bytes, or by the life of what was computed from."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Source = TypeVar("Source")


class ByteCache(Generic[Key, Value]):
    """An LRU cache of up to `limit` bytes, as its callers estimate them: a count says little if one entry is
    a thousand times another. The newest entry stays, however large. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0
        """The callers' estimates of all entries."""

    def get(self, key: Key) -> Value | None:
        """Return the entry of `key` and mark it as used; None if there is none."""
        with self._lock:
            if (entry := self._entries.get(key)) is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Store `value`, of about `size` bytes, and evict the least recently used entries."""
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self.bytes -= old[1]
            self._entries[key] = (value, size)
            self.bytes += size
            while self.bytes > self._limit and len(self._entries) > 1:
                _, (_, evicted) = self._entries.popitem(last=False)
                self.bytes -= evicted

    def __len__(self) -> int:
        return len(self._entries)


class IdentityCache(Generic[Source, Value]):
    """`compute(source)`, once in the life of each source, which must never change. By identity, since
    comparing two sources would take as long as computing."""

    def __init__(self, compute: Callable[[Source], Value]) -> None:
        self._compute = compute
        self._values: dict[int, tuple[weakref.ref[Source], Value]] = {}

    def of(self, source: Source) -> Value:
        """Return the cached value, or compute it; raises what `compute` raises."""
        number = id(source)
        if (entry := self._values.get(number)) is not None and entry[0]() is source:
            return entry[1]
        value = self._compute(source)
        self._values[number] = (weakref.ref(source, lambda _: self._values.pop(number, None)), value)
        return value
