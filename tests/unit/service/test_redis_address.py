"""How a Redis may be named, and what is said of a name that can't be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.redis.address import FORMS
from infra.settings import Settings
from schemas.errors import InputError
from services.bootstrap import bootstrap
from services.workers.stack import Stack


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis+sentinel://:hush@h1,h2/0?master=m", "not a Redis address"),
        ("redis://:hush@h1:port/0", "port"),
        ("hush", "not a Redis address"),
    ],
)
def test_what_can_not_be_read_is_said_at_the_start(url: str, why: str, tmp_path: Path) -> None:
    for named in ({"redis_url": url}, {"limits_url": url}):
        config = Settings(home=tmp_path, **named)  # type: ignore[arg-type]
        for start in (lambda config=config: bootstrap(config), lambda config=config: Stack(config).start()):
            with pytest.raises(InputError, match=why) as refused:
                start()
            assert refused.value.hint == FORMS
            assert "hush" not in str(refused.value).replace("unknown", "")
            assert refused.value.detail.startswith(("REDIS_URL", "SAYCART_LIMITS_URL"))
