"""`saycart recordings`: what customers said, where it is kept. Needs neither a stack nor a database."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from infra.settings import settings
from schemas.errors import InputError, UnsupportedAudio
from services.cli.client import told

app = typer.Typer(no_args_is_help=True)
# Recordings between two signs of life.
_TELL = 1000


@app.callback()
def recordings() -> None:
    """Where customer recordings are stored."""


@app.command()
def copy(
    folder: Annotated[
        Path | None,
        typer.Argument(file_okay=False, help="folder with recordings; default: the one in SAYCART_HOME"),
    ] = None,
) -> None:
    """Copy recordings from a folder into the bucket that SAYCART_RECORDINGS_URL names.

    Nothing is overwritten, and an interrupted copy resumes. The stack may run meanwhile.
    """
    with told() as console:
        config = settings()
        if not config.recordings_url:
            raise InputError("No bucket is set", hint="Set SAYCART_RECORDINGS_URL, if only for this command.")
        source = folder or config.blobs
        if not source.is_dir():
            raise InputError(f"{source} is not a folder", hint="Pass the folder with the recordings.")
        from infra.blobs.bucket import BlobBucket
        from infra.blobs.moving import Fate, copied
        from services.recordings import store_of

        bucket = store_of(config)
        assert isinstance(bucket, BlobBucket)
        bucket.check()
        counts: Counter[Fate] = Counter()
        for key, fate in copied(source, bucket, _media_type):
            counts[fate] += 1
            if fate is Fate.ANOTHER:
                console.print(f"[bold red]skipped[/] {escape(key)}: {fate}")
            if not counts.total() % _TELL:
                console.print(f"{counts.total()} so far")
        told_of = "; ".join(f"{counts[fate]} {fate}" for fate in Fate if counts[fate])
        console.print(f"{escape(config.recordings_url)}: {told_of or 'no recordings in the folder'}")
        if counts[Fate.ANOTHER]:
            raise typer.Exit(1)


def _media_type(file: Path) -> str:
    from services.engines.recognition.containers import sniff_file

    try:
        return sniff_file(file).media_type
    except UnsupportedAudio:  # a file that only looks like a recording of ours
        return "application/octet-stream"
