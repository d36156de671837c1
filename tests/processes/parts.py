"""Start parts of the product as child processes of tests and measurements."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.processes.supervisor import Child
from infra.settings import REPOSITORY, Settings
from services.workers.children import as_environment


def part(
    name: str, argv: tuple[str, ...], home: Path, env: dict[str, str], fds: tuple[int, ...] = (), **more: str
) -> Child:
    """A child that needs Redis and creates a file in `home` when it is ready."""
    return Child(
        name=name,
        argv=argv,
        log_path=home / f"{name}.log",
        ready_file=home / f"{name}.ready",
        ready_timeout_s=120,
        env={**env, **more},
        needs=("redis",),
        pass_fds=fds,
    )


def python(
    *words: object, env: dict[str, str] | None = None, timeout_s: float = 120, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run `python WORDS` in the repository to its end, with `env` as its whole environment."""
    command = [sys.executable, *map(str, words)]
    how |= {"cwd": REPOSITORY, "env": env, "timeout": timeout_s}
    return subprocess.run(command, capture_output=True, text=True, **how)


@contextmanager
def program(
    settings: Settings,
    *words: str,
    log: Path = Path(os.devnull),
    env: dict[str, str] | None = None,
    **how: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python WORDS` with these settings, unsupervised, and kill it at the end. `how` goes to Popen."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=REPOSITORY,
            env=os.environ | as_environment(settings) | (env or {}),
            stdout=output,
            stderr=output,
            **how,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)
