"""The images built, the compose file started, an order spoken into it: `make test-containers`.

With the real Whisper and language model. What was seen is written to `reports/containers.json`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from tests.containers.composed import BASES, BUILD_S, JOBS, NEW, WANTED, Composed, base_images, begun, docker
from tests.containers.documented import backups
from tests.containers.till import Lunch, Till
from tests.unit.deployment.test_images import in_context

pytestmark = pytest.mark.skipif(
    WANTED in ("", "short"),
    reason="builds five images and starts them, which takes a quarter of an hour: make test-containers",
)
WORKERS = ("worker-transcribe", "worker-decode")
PARTS = ("api", *WORKERS, "sweeper")
SERVERS = ("reader",)
# Their words leave one cart.
SETTLED = ["hc-01", "hc-02", "hc-03", "hc-05", "hc-07", "hc-09", "hc-11", "cs-02"]
ENDS_S = 420
Seen = dict[str, Any]


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    """What is worth telling, written down at the end."""
    found: Seen = {}
    yield found
    out = REPOSITORY / "reports" / "containers.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")


@pytest.fixture(scope="module")
def composed(seen: Seen) -> Iterator[Composed]:
    with begun() as stack:
        seen["engine"] = docker("version", "--format", "{{.Server.Version}}").strip()
        seen["base images"] = base_images()
        began = time.monotonic()
        stack.compose("build", timeout_s=BUILD_S)
        seen["built in s"] = round(time.monotonic() - began)
        # On two cores that others use too, a prompt takes a minute.
        stack.env |= {"SAYCART_LLM_TIMEOUT_S": "180"}
        stack.bring_weights()
        began = time.monotonic()
        stack.compose("up", "-d", timeout_s=BUILD_S)
        seen["up returned after s"] = round(time.monotonic() - began)
        stack.until_well("redis", "postgres", *JOBS, *SERVERS, *PARTS)
        seen["all healthy after s"] = round(time.monotonic() - began)
        yield stack


@pytest.fixture(scope="module")
def key(composed: Composed) -> str:
    key = composed.key()
    Till(composed.url, key).bring_menus()
    return key


def test_a_build_is_sent_what_the_list_says(composed: Composed, tmp_path: Path) -> None:
    """Docker's own reading of .dockerignore and the one of test_images.py are the same."""
    sent = (
        "services/a.py",
        "services/web/static/vendor/a.js",
        "infra/adapters/a/adapter_model.safetensors",
        "README.md",
    )
    kept = (
        "services/__pycache__/a.pyc",
        "services/.env",
        ".env",
        ".venv-next/lib/a.so",
        "reports/a",
        "infra/adr/1.md",
    )
    for name in (*sent, *kept, "services/learning/training/a.py", "tests/a.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / ".dockerignore").write_text((REPOSITORY / ".dockerignore").read_text())
    (tmp_path / "Dockerfile").write_text(f"FROM {BASES[0]}\nCOPY . /sent\n")
    image = docker("build", "-q", str(tmp_path), **composed.env).strip()
    try:
        found = docker("run", "--rm", image, "find", "/sent", "-type", "f", "-printf", "%P\\n").split()
    finally:
        docker("image", "rm", "-f", image)
    assert sorted(found) == sorted(sent)
    assert [name for name in (*sent, *kept) if in_context(name)] == list(sent)


@pytest.mark.parametrize("service", [*PARTS, *SERVERS])
def test_a_part_is_closed_in(composed: Composed, seen: Seen, service: str) -> None:
    tries = "id -u; touch /app/x /opt/venv/x 2>&1 | grep -c Read-only; ls /opt"
    tools = "which gcc cc make pip pip3 redis-server; true"
    user, refused, *rest = composed.inside(service, "sh", "-c", f"{tries}; {tools}").split()
    assert (user, refused) == ("10001", "2")
    engines = {service: ["engines"] for service in ("worker-transcribe", *SERVERS)}
    assert rest == [*engines.get(service, []), "venv"]
    told = composed.container(service)
    assert told["HostConfig"]["ReadonlyRootfs"]
    assert told["HostConfig"]["CapDrop"] == ["ALL"]
    assert told["HostConfig"]["Memory"] > 0
    assert told["HostConfig"]["PidsLimit"] > 0
    size = int(docker("image", "inspect", "-f", "{{.Size}}", told["Image"]))
    seen.setdefault("images in MB", {})[told["Config"]["Image"]] = round(size / 1e6)
    memory = docker("stats", "--no-stream", "--format", "{{.MemUsage}}", told["Id"])
    seen.setdefault("memory after the start", {})[service] = memory.split(" / ")[0].strip()


def test_spoken_orders_are_heard_and_read_by_the_models(composed: Composed, key: str, seen: Seen) -> None:
    """The words of the first leave something open, so the language model is asked, and then a human."""
    till = Till(composed.url, key, "spoken")
    for name in ("hc-12", "hc-01"):
        began = time.monotonic()
        till.say(name)
        till.settled(ENDS_S)
        assert till.wrong() == []
        order = till.samples[-1].order
        assert order is not None
        assert order.transcript is not None
        seen.setdefault("spoken orders", {})[name] = {
            "heard": order.transcript.text,
            "status": order.status,
            "lines": [f"{line.quantity} {line.name} {line.size}" for line in order.cart.lines]
            if order.cart
            else [],
            "total in minor units": order.cart.total if order.cart else None,
            "by": order.engine,
            "timings": order.timings.model_dump(by_alias=True, exclude_none=True),
            "s": round(time.monotonic() - began),
        }
    assert seen["spoken orders"]["hc-12"]["by"]["decoder"] == "llama.cpp:qwen2.5-coder-1.5b-orders"
    assert seen["spoken orders"]["hc-01"]["status"] == "completed"


def test_the_reader_reads_no_menu_twice(composed: Composed, key: str, seen: Seen) -> None:
    """Nor after a start of its own: it takes up what it kept, and writes nothing anew."""
    till = Till(composed.url, key, "read")
    by = dict.fromkeys(("hc-02", "hc-12"), "llama.cpp:qwen2.5-coder-1.5b-orders")

    def read(name: str) -> Seen:
        sample = till.type(name)
        till.settled(ENDS_S)
        order = sample.order
        assert order is not None
        tokens = {name: order.engine[f"{name}_tokens"] for name in ("prompt", "cached", "completion")}
        return {"decode s": order.timings.decode, "by": order.engine["decoder"], **tokens}

    before = [{name: read(name) for name in by} for _ in range(2)]
    kept = composed.inside("reader", "ls", "-i", "/data/reader")
    composed.compose("restart", "reader")
    composed.until_well("reader")
    after = {name: read(name) for name in by}
    seen["orders of text"] = {"before a restart of the reader": before, "after": after}
    assert till.wrong() == []
    for name, model in by.items():
        for one in (before[1][name], after[name]):
            assert one["cached"] > 0.9 * one["prompt"]
            assert one["by"].startswith(model)
    assert ".state" in kept
    assert composed.inside("reader", "ls", "-i", "/data/reader") == kept


def test_settings_of_the_shell_reach_the_workers(composed: Composed) -> None:
    shipped = composed.env
    composed.env = shipped | {"SAYCART_ORDER_TOKENS": "127", "SAYCART_DECODE_CONCURRENCY": "2"}
    composed.compose("up", "-d", "--no-deps", *WORKERS)
    composed.until_well(*WORKERS)
    for service in WORKERS:
        assert "SAYCART_ORDER_TOKENS=127" in composed.inside(service, "env").split()
    # Two cores take no more at once; vLLM does. Here it is the argument list that is looked at.
    words = composed.inside("worker-decode", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "--pool=threads --concurrency=2" in words
    # What follows is tried as it ships.
    composed.env = shipped
    composed.compose("up", "-d", "--no-deps", *WORKERS)
    composed.until_well(*WORKERS)


def test_the_database_keeps_shops_apart_for_the_role_that_parts_have(composed: Composed) -> None:
    asked = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = 'saycart';"
    asked += " SELECT bool_and(c.relforcerowsecurity) FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid;"
    asked += " SELECT count(*) > 0 FROM pg_authid WHERE rolsuper AND rolpassword IS NOT NULL"
    told = composed.inside("postgres", "psql", "-U", "postgres", "-d", "saycart", "-Atc", asked)
    assert told.split() == ["f", "t", "f"]


def test_a_backup_has_the_orders_and_what_was_spoken(composed: Composed, key: str) -> None:
    """By the document's own commands; `storage/files/test_backup_elsewhere.py` brings it back."""
    inside = [line.split(maxsplit=5)[5] for line in backups()[0].splitlines()]
    dump, home = (words.partition(" >")[0] for words in inside)
    tables = composed.inside("postgres", "sh", "-c", f"{dump} | pg_restore --list")
    assert "TABLE DATA public orders " in tables
    composed.inside("api", "touch", "/data/whatever-else")  # such as the secret, once a link was made
    files = composed.inside("api", "sh", "-c", f"{home} | tar -tz")
    assert re.search(r"^\./recordings/[0-9a-f]{2}/.+", files, re.MULTILINE)
    assert "./whatever-else" in files.split()


def test_killed_workers_lose_nothing(composed: Composed, key: str, seen: Seen) -> None:
    till = Till(composed.url, key, "killed")
    before = {service: composed.container(service)["RestartCount"] for service in WORKERS}
    with Lunch(till, SETTLED, every_s=0.2) as lunch:
        time.sleep(2)
        for service in WORKERS:
            composed.crash(service)
            time.sleep(2)
    assert lunch.failed == []
    began = time.monotonic()
    till.settled(ENDS_S)
    assert till.wrong() == []
    seen["workers killed"] = {
        "orders": len(till.samples),
        "settled s after the last": round(time.monotonic() - began),
    }
    for service in WORKERS:
        assert composed.container(service)["RestartCount"] > before[service]
    composed.until_well(*WORKERS)


def test_an_upgrade_loses_nothing(composed: Composed, key: str, seen: Seen) -> None:
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
    seen["upgrade"] = {
        "orders": len(ids),
        "requests tried again": till.retries,
        "of them refused": dict(till.refused),
        "longest wait for an answer s": round(till.longest_away_s, 1),
    }
