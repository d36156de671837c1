"""`saycart --version`: the release, its commit, and the models that it was measured with."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.metadata import version

import typer

from infra.settings import REPOSITORY
from infra.weights.lock import default_names, lock

COMMIT_ENV = "SAYCART_COMMIT"
"""The commit of an image, which holds no repository."""


def show_version(wanted: bool) -> None:
    """If `wanted`, print version, commit, and the default models with their digests, and exit."""
    if not wanted:
        return
    typer.echo(f"saycart {version('saycart')}")
    typer.echo(f"commit {commit() or 'unknown'}")
    for name in default_names():
        weights = max(lock().get(name).files, key=lambda file: file.bytes)
        typer.echo(f"model {name} sha256:{weights.sha256}")
    raise typer.Exit


def commit() -> str | None:
    """Return the commit of the image or checkout, with `-dirty` if files differ; None if unknown."""
    if of_image := os.environ.get(COMMIT_ENV):
        return of_image
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        return None
    words = ("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
    done = subprocess.run(
        [git, "-C", str(REPOSITORY), *words], capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout.strip() or None
