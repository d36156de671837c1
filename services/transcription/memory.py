"""Keep freed memory in the process, for a model's working arrays.

CTranslate2 allocates new arrays for each layer of each step, up to 70 MB each. glibc returns such blocks to
the kernel at once, and every page is faulted in again: 160,000 faults and a quarter of the CPU time of one
pass (base model, 2 threads). With this the process stays as large as its peak.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

# malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = 2**30


@lru_cache(maxsize=1)
def keep_memory() -> None:
    """Configure glibc, once per process; other C libraries are left alone."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    # One arena: other threads' arenas are too small for such blocks.
    for option, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _NEVER), (_TRIM_THRESHOLD, _NEVER)):
        mallopt(option, value)
