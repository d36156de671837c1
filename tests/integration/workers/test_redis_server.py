"""The embedded Redis: the real binary."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.redis.broker import make_celery, send, waiting
from infra.redis.server import EmbeddedRedis
from tests.waiting import until


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedRedis:
    return EmbeddedRedis(tmp_path / "redis", any_free(), tmp_path / "logs" / "redis.log")


@pytest.fixture
def running(tmp_path: Path, server: EmbeddedRedis) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path)
    supervisor.start([server.child()])
    yield supervisor
    supervisor.stop()


def test_queued_messages_survive_kill_9(running: Supervisor, server: EmbeddedRedis) -> None:
    client = redis.Redis.from_url(server.url)
    client.rpush("queue", "order-1", "order-2")
    time.sleep(1.2)  # appendfsync everysec; after a kill alone, the kernel would still write it
    killed = running.pid("redis")
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    until(lambda: running.pid("redis") not in (None, killed) and server.answers(), 10)
    assert client.lrange("queue", 0, -1) == [b"order-1", b"order-2"]
    client.close()


def test_it_needs_a_password_and_persists(running: Supervisor, server: EmbeddedRedis) -> None:
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=server.port).ping()
    with redis.Redis.from_url(server.operator_url) as client:
        assert client.config_get("bind")["bind"] == "127.0.0.1"
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert client.config_get("appendonly")["appendonly"] == "yes"
        assert client.config_get("save")["save"] == ""
    pid = running.pid("redis")
    for name in ("password", "operator"):
        secret = (server.folder / name).read_bytes()
        assert len(secret) >= 32
        assert secret not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert secret not in (server.folder / "redis.conf").read_bytes(), "only its digest"


def test_no_client_connects_without_the_password(running: Supervisor, server: EmbeddedRedis) -> None:
    """Any local user can connect to loopback."""
    for at in ("", ":guess@", "saycart@", "saycart:@", "saycart:guess@", "default:@", "operator:@"):
        with redis.Redis.from_url(f"redis://{at}127.0.0.1:{server.port}/0") as client:
            for command in ("PING", "LLEN decode", "INFO", "ACL WHOAMI"):
                with pytest.raises((redis.AuthenticationError, redis.ResponseError)):
                    client.execute_command(*command.split())


DENIED = """
EVAL return(1) 0;EVAL_RO return(1) 0;SCRIPT FLUSH;FUNCTION LIST;FCALL f 0
CONFIG GET requirepass;CONFIG SET dir /tmp;CONFIG SET dbfilename x;CONFIG REWRITE;DEBUG SLEEP 0
DEBUG JMAP;MODULE LIST;MODULE LOAD /tmp/x.so;KEYS *;FLUSHALL;FLUSHDB;SWAPDB 0 1;SAVE;BGSAVE;BGREWRITEAOF
SHUTDOWN NOSAVE;REPLICAOF 127.0.0.1 1;SLAVEOF 127.0.0.1 1;MIGRATE 127.0.0.1 1 k 0 1;RESTORE k 0 x
SORT unacked;ACL LIST;ACL SETUSER x on nopass ~* +@all;ACL WHOAMI;CLIENT LIST;CLIENT KILL ID 1
CLIENT PAUSE 1;MONITOR;SYNC;PSYNC ? -1;INFO;SLOWLOG GET;LATENCY RESET;CLUSTER INFO;FAILOVER;ROLE;LASTSAVE
DUMP decode;OBJECT ENCODING decode;RENAME a b;MOVE a 1;COPY a b;PFDEBUG x y;LOLWUT;STRALGO LCS STRINGS a b
SETRANGE k 9 x;BITFIELD k GET u8 0;HRANDFIELD h 1;ZRANDMEMBER z 1;XADD s * a b;PSUBSCRIBE *;PUBLISH c m
"""


def test_the_queues_user_has_only_queue_commands(running: Supervisor, server: EmbeddedRedis) -> None:
    commands = [line.strip() for line in DENIED.strip().replace("\n", ";").split(";")]
    taken = []
    with redis.Redis.from_url(server.url) as client, redis.Redis.from_url(server.operator_url) as operator:
        known = {name.upper() for name in operator.command()}
        for command in commands:
            try:
                client.execute_command(*command.split())
            except redis.exceptions.NoPermissionError:
                continue
            except redis.ResponseError as error:
                # A command of versions later than the wheel's.
                if command.split()[0] not in known and "unknown command" in str(error):
                    continue
            taken.append(command)
        assert not taken
        assert client.ping()
        # Whatever else this server has: a queue's own few commands, and none of these kinds.
        may = {*operator.acl_getuser("saycart")["commands"]}
        assert "+lpush" in may
        for category in ("dangerous", "geo", "stream", "hyperloglog", "bitmap"):
            assert not {f"+{name}" for name in operator.acl_cat(category)} & may
        for denied in ("EVAL return(1) 0", "MODULE LIST", "DEBUG JMAP"):
            with pytest.raises(redis.exceptions.NoPermissionError):
                operator.execute_command(*denied.split())


def test_messages_of_a_dead_worker_are_restored(running: Supervisor, server: EmbeddedRedis) -> None:
    """Only here does kombu use its lock, and thus a script."""
    app = make_celery(server.url)
    send(app, "saycart.decode", ("ord_1", "decode"), queue="decode")
    with app.connection_for_read() as connection:
        connection.SimpleQueue("decode").get(timeout=5)  # taken, and never acknowledged
        with redis.Redis.from_url(server.operator_url) as client:
            (tag,) = client.zrange("unacked_index", 0, -1)
            client.zadd("unacked_index", {tag: 1.0})
            channel = connection.default_channel
            channel.qos.restore_visible(interval=1)
            assert client.zcard("unacked_index") == 0
            assert client.llen("decode") == 1
            assert not client.exists("unacked_mutex"), "the lock was given back"
    assert waiting(app, ["decode"], fresh_s=30)["decode"] == 1
