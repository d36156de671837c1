"""A saved state that can't be used is written again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.decoding.server.state_folder import StateFolder

MENU = (1, 2, 3)


def unreadable(file: Path) -> None:
    file.unlink()
    file.symlink_to("/proc/self/mem")  # exists, and reading its first bytes is an OSError


@pytest.mark.parametrize(
    "spoil", [lambda file: file.write_bytes(b""), lambda file: file.write_bytes(b"x" * 99), unreadable]
)
def test_a_spoiled_state_is_forgotten(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    states = StateFolder(tmp_path, "model")
    states.put(True, MENU, b"state")
    assert states.get(True, MENU) == b"state"
    (file,) = tmp_path.iterdir()
    spoil(file)
    assert states.get(True, MENU) is None
    assert not states.use(True, MENU), "it is written again"
