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
def keep_memory() -> bool:
    """Configure glibc, once per process. Return True if it worked; other C libraries are left alone."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    # One arena: other threads' arenas are too small for such blocks.
    options = ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _NEVER), (_TRIM_THRESHOLD, _NEVER))
    return all([mallopt(option, value) == 1 for option, value in options])
