"""URLs of settings: those of a Redis, parameters, and the kind of a decode server."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.addresses import parameters
from infra.observability import tracing
from infra.redis.address import FORMS
from infra.settings import Settings
from schemas.errors import InputError
from services.bootstrap import bootstrap
from services.recordings import store_of
from services.workers.stack import Stack


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("s3://b/p", ("s3://b/p", {})),
        ("s3://b/p?endpoint=https://s3.example:9000", ("s3://b/p", {"endpoint": "https://s3.example:9000"})),
        ("http://c/v1?key=a%20b&endpoint=x", ("http://c/v1?key=a+b", {"endpoint": "x"})),
        ("http://c/v1?key=a%20b", ("http://c/v1?key=a%20b", {})),
    ],
)
def test_our_own_parameters_are_taken_out(url: str, found: tuple[str, dict[str, str]]) -> None:
    assert parameters(url, "endpoint") == found


def test_a_parameter_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="repeated"):
        parameters("s3://b?endpoint=x&endpoint=y", "endpoint")


@pytest.mark.parametrize(
    ("url", "dialect", "asked"),
    [
        ("", "llama.cpp", ""),
        (" http://a:1", "llama.cpp", "http://a:1"),
        ("vllm+https://b", "vllm", "https://b"),
    ],
)
def test_a_url_says_how_its_server_takes_a_grammar(url: str, dialect: str, asked: str) -> None:
    settings = Settings(llm_url=url)
    assert (settings.llm_dialect, settings.llm_base) == (dialect, asked)


def test_several_decode_servers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"(?s)llm_url.*one address.*Kubernetes Service, HAProxy"):
        Settings(llm_url="http://a:1,http://b:1")


@pytest.mark.parametrize("query", ["links=yes", "endpoint=host:9000", "else=1"])
def test_a_bucket_with_an_odd_parameter_is_refused(tmp_path: Path, query: str) -> None:
    with pytest.raises(InputError, match="SAYCART_RECORDINGS_URL"):
        store_of(Settings(home=tmp_path, recordings_url=f"s3://bucket?{query}"))


@pytest.mark.parametrize("share", ["2", "-0.1", "half", "nan"])
def test_a_sample_that_is_no_share_is_refused(share: str) -> None:
    with pytest.raises(InputError, match="must be 0 to 1"):
        tracing.check(Settings(traces_url=f"http://127.0.0.1:4318?sample={share}"))


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
