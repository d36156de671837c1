"""How a Redis may be named, and what is said of a name that can't be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.redis.address import FORMS, redis_address
from infra.settings import Settings
from schemas.errors import InputError
from services.bootstrap import bootstrap
from services.workers.stack import Stack

SENTINELS = "redis+sentinel://ann:p%40ss%2Fw@h1,[::1]:26380,h3:1/2?master=m&sentinel_password=s%3Ax"


def test_sentinels_are_read() -> None:
    address = redis_address(SENTINELS)
    assert address.sentinels == (("h1", 26379), ("::1", 26380), ("h3", 1))
    assert (address.master, address.database) == ("m", 2)
    assert address.who == {"username": "ann", "password": "p@ss/w"}
    assert address.sentinel_who == {"password": "s:x"}
    assert redis_address("redis+sentinel://h/?master=m").who == {}


def test_each_of_the_brokers_urls_says_everything() -> None:
    urls = redis_address(SENTINELS).broker["broker_url"].split(";")
    assert urls == [f"sentinel://ann:p%40ss%2Fw@{at}/2" for at in ("h1:26379", "[::1]:26380", "h3:1")]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis+sentinel://:hush@h1,h2/0", "master"),
        ("redis+sentinel://:hush@h1/0?master=", "master"),
        ("redis+sentinel://:hush@h1,/0?master=m", "empty"),
        ("redis+sentinel://:hush@h1:x/0?master=m", "port"),
        ("redis+sentinel://:hush@h1/zero?master=m", "number of the database"),
        ("redis+sentinel://:hush@h1/0?master=m&sentinal_password=hush", "sentinal_password"),
        ("sentinel://:hush@h1:26379", "no address"),
        ("rediss+sentinel://:hush@h1/0?master=m", "no address"),
        ("redis://:hush@h1:port/0", "port"),
        ("hush", "no address"),
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


def test_the_address_is_not_shown_by_accident() -> None:
    assert "p%40ss" not in repr(redis_address(SENTINELS))
