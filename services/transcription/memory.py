"""Have this process keep the memory that a model's working arrays come from, rather than give it back.

CTranslate2 allocates new arrays for each layer of each step, up to 70 MB each. glibc takes such blocks
from the kernel and gives them back at once, and every page is then faulted in again: 160,000 faults and a
quarter of the CPU time of one hearing (base model, 2 threads). Kept, the process is as large as its peak.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

# malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = 2**30


@lru_cache(maxsize=1)
def keep_memory() -> bool:
    """Ask glibc once for this process; whether it took it. With another C library nothing is done."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    # One arena: those of other threads are made of pieces too small for such blocks.
    asked = ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _NEVER), (_TRIM_THRESHOLD, _NEVER))
    return all([mallopt(option, value) == 1 for option, value in asked])
