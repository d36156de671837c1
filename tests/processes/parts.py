"""A part of the product as a child of a test or a measurement: what is common to all that start some."""

from __future__ import annotations

from pathlib import Path

from infra.processes.supervisor import Child


def part(
    name: str, argv: tuple[str, ...], home: Path, env: dict[str, str], fds: tuple[int, ...] = (), **more: str
) -> Child:
    """A child that says by a file in `home` when it can work, and waits for the child `redis`."""
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
