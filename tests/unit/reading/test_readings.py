"""No order is read otherwise than was written down, unless somebody meant it: `make readings`."""

from __future__ import annotations

import re

from tests.readings import kept, read_again

STEP = 23  # every so many-th order; all of them take most of a minute


def test_what_is_written_down_is_read_again() -> None:
    before = kept()
    found = read_again(STEP)
    assert len(found) > 500
    assert not [name for name, value in before.items() if not re.fullmatch("[0-9a-f]{10}", value)], "an error"
    other = [name for name, value in found.items() if before.get(name) != value]
    assert not other, (
        "read otherwise: if that is meant, `make readings ARGS=--write`, and say it in the CHANGELOG"
    )
