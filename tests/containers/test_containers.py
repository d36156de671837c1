"""Build the images, start the compose file, and order by speech: `make test-containers`.

With the real Whisper and language model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.containers.composed import BUILD_S, JOBS, NEW, WANTED, Composed, base_images, begun
from tests.containers.till import Lunch, Till

pytestmark = pytest.mark.skipif(
    WANTED in ("", "short"),
    reason="builds five images and starts them, which takes a quarter of an hour: make test-containers",
)
WORKERS = ("worker-transcribe", "worker-decode")
PARTS = ("api", *WORKERS, "sweeper")
SERVERS = ("reader",)
# They complete without a question.
SETTLED = ["hc-01", "hc-02", "hc-03", "hc-05", "hc-07", "hc-09", "hc-11", "cs-02"]
ENDS_S = 420


@pytest.fixture(scope="module")
def composed() -> Iterator[Composed]:
    with begun() as stack:
        base_images()
        stack.compose("build", timeout_s=BUILD_S)
        # On two busy cores a prompt takes a minute.
        stack.env |= {"SAYCART_LLM_TIMEOUT_S": "180"}
        stack.bring_weights()
        stack.compose("up", "-d", timeout_s=BUILD_S)
        stack.until_well("redis", "postgres", *JOBS, *SERVERS, *PARTS)
        yield stack


@pytest.fixture(scope="module")
def key(composed: Composed) -> str:
    key = composed.key()
    Till(composed.url, key).bring_menus()
    return key


@pytest.mark.parametrize("service", [*PARTS, *SERVERS])
def test_a_part_is_closed_in(composed: Composed, service: str) -> None:
    tries = "id -u; touch /app/x /opt/venv/x 2>&1 | grep -c Read-only; ls /opt"
    tools = "which gcc cc make pip pip3 redis-server; true"
    user, refused, *rest = composed.inside(service, "sh", "-c", f"{tries}; {tools}").split()
    assert (user, refused) == ("10001", "2")
    engines = {service: ["engines"] for service in ("worker-transcribe", *SERVERS)}
    assert rest == [*engines.get(service, []), "venv"]


def test_spoken_orders_are_heard_and_read_by_the_models(composed: Composed, key: str) -> None:
    """The first leaves a choice open, so it goes to a human."""
    till = Till(composed.url, key, "spoken")
    for name, status in (("hc-12", "needs_review"), ("hc-01", "completed")):
        till.say(name)
        till.settled(ENDS_S)
        assert till.wrong() == []
        order = till.samples[-1].order
        assert order is not None
        assert (order.status, order.engine.decoder) == (status, "llama.cpp:qwen2.5-coder-1.5b-orders")


def test_the_database_keeps_shops_apart_for_the_role_that_parts_have(composed: Composed) -> None:
    asked = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = 'saycart';"
    asked += " SELECT bool_and(c.relforcerowsecurity) FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid;"
    asked += " SELECT count(*) > 0 FROM pg_authid WHERE rolsuper AND rolpassword IS NOT NULL"
    answer = composed.inside("postgres", "psql", "-U", "postgres", "-d", "saycart", "-Atc", asked)
    assert answer.split() == ["f", "t", "f"]


def test_killed_workers_lose_nothing(composed: Composed, key: str) -> None:
    till = Till(composed.url, key, "killed")
    before = {service: composed.container(service)["RestartCount"] for service in WORKERS}
    with Lunch(till, SETTLED, every_s=0.2) as lunch:
        time.sleep(2)
        for service in WORKERS:
            composed.crash(service)
            time.sleep(2)
    assert lunch.failed == []
    till.settled(ENDS_S)
    assert till.wrong() == []
    for service in WORKERS:
        assert composed.container(service)["RestartCount"] > before[service]
    composed.until_well(*WORKERS)


def test_an_upgrade_loses_nothing(composed: Composed, key: str) -> None:
    composed.release()
    till = Till(composed.url, key, "upgrade")
    already = len(till.ids_at_api())
    with Lunch(till, SETTLED, every_s=0.5) as lunch:
        composed.compose("run", "--rm", "--no-deps", "migrate")
        for service in PARTS:
            composed.compose("up", "-d", "--no-deps", service)
            composed.until_well(service)
    assert lunch.failed == []
    till.settled(ENDS_S)
    assert till.wrong() == []
    ids = [sample.order.id for sample in till.samples if sample.order is not None]
    assert len(set(ids)) == len(ids) == len(till.ids_at_api()) - already
    for service in PARTS:
        assert composed.container(service)["Config"]["Image"].endswith(f":{NEW}")
