"""`saycart --version`: the release, its commit, and the models that it was measured with."""

from __future__ import annotations

import os
from importlib.metadata import version

import typer

from infra.weights.lock import default_names, lock

COMMIT_ENV = "SAYCART_COMMIT"
"""The commit that an image was built from: it holds no repository to ask."""


def show_version(asked: bool) -> None:
    """Print version, commit and the lock's default models with a digest each, then exit, if `asked`."""
    if not asked:
        return
    from services.learning.evaluation.provenance import commit  # not at every start of the command line

    typer.echo(f"saycart {version('saycart')}")
    typer.echo(f"commit {os.environ.get(COMMIT_ENV) or commit() or 'unknown'}")
    for name in default_names():
        weights = max(lock().get(name).files, key=lambda file: file.bytes)
        typer.echo(f"model {name} sha256:{weights.sha256}")
    raise typer.Exit
