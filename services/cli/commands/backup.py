"""`saycart backup FOLDER`, `saycart restore FOLDER`: everything that can't be made again, out and back in.

A backup is a copy of the database as of one moment, in a folder named by that moment, next to one folder of
recordings that all backups share: files never change, so each is copied once. The database comes first and
the recordings after it, so that no order in the copy lacks its file.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from infra import private
from infra.settings import settings
from infra.sql import dumps
from schemas.errors import InputError
from services.bootstrap import Container, bootstrap
from services.cli.client import errors_shown, opened

MANIFEST = "backup.json"
RECORDINGS = "recordings"
Folder = Annotated[
    Path, typer.Argument(file_okay=False, help="folder for backups; each recording is stored once")
]


def backup(folder: Folder) -> None:
    """Copy database, recordings and the secret that signs customers' links; the stack may run."""
    with errors_shown() as console, opened() as box:
        private.keep_private()
        made = folder / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        half = made.with_name(f"{made.name}.unfinished")
        half.mkdir(parents=True)
        file = half / dumps.name_of(box.database.url)
        dumps.dump(box.database.url, file)
        secret = box.settings.home / "secret"
        if secret.is_file():
            private.write(half / "secret", secret.read_text())
        copied, removed = 0, 0
        if not box.settings.recordings_url:
            copied = _copy_recordings(box.settings.blobs, folder / RECORDINGS)
            removed = _let_go(box, folder / RECORDINGS)
        manifest = {"made_at": made.name, "sha256": dumps.sha256(file)}
        private.write(half / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        half.rename(made)
        files = f"{copied} new, {removed} unused ones removed"
        if box.settings.recordings_url:
            files = "in their bucket (not copied)"
        console.print(f"{escape(str(made))}: the database; recordings: {files}")


def restore(
    folder: Folder,
    backup: Annotated[str | None, typer.Option(help="the backup's folder name; default: the newest")] = None,
) -> None:
    """Put a backup into this home, which must have no database yet. Then `saycart run`."""
    with errors_shown() as console:
        private.keep_private()
        config = settings()
        chosen = _chosen(folder, backup)
        checksum = _checksum(chosen)
        box = bootstrap(config)
        try:
            file = chosen / dumps.name_of(box.database.url)
            if not file.is_file():
                raise InputError(
                    f"{chosen} was made from a different database than {box.database.url.drivername}"
                )
            if dumps.sha256(file) != checksum:
                raise InputError(f"{file} doesn't match its checksum", hint="Choose another backup.")
            dumps.load(file, box.database.url)
            if (chosen / "secret").is_file():
                private.write(config.home / "secret", (chosen / "secret").read_text())
            copied = 0 if config.recordings_url else _copy_recordings(folder / RECORDINGS, config.blobs)
            box.database.migrate()
            # Who held an order when the copy was made does not work on this one.
            freed = box.orders.free_leases()
            counts = {state.value: count for state, count in box.orders.counts().items() if count}
        finally:
            box.close()
        console.print(
            f"As of {chosen.name}: {counts or 'no orders'}; {copied} recordings; {freed} leases freed"
        )
        console.print("Later changes, including erasures, are missing: see docs/operations.md, Backups.")


def _chosen(folder: Path, name: str | None) -> Path:
    if name is not None:
        return folder / name
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not found:
        raise InputError(f"No complete backup in {folder}", hint="`saycart backup FOLDER` makes one.")
    return found[-1]


def _checksum(chosen: Path) -> str:
    try:
        return str(json.loads((chosen / MANIFEST).read_text())["sha256"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{chosen} is not a complete backup: {error}") from None


def _copy_recordings(source: Path, target: Path) -> int:
    """Copy what is not there yet; how many files."""
    copied = 0
    for file in source.glob("??/*"):
        to = target / file.parent.name / file.name
        if to.exists():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        half = to.with_name(f"{to.name}.{os.getpid()}")
        try:
            shutil.copyfile(file, half)
        except FileNotFoundError:  # let go of meanwhile
            half.unlink(missing_ok=True)
            continue
        half.rename(to)
        copied += 1
    return copied


def _let_go(box: Container, kept: Path) -> int:
    """Remove from the backups the recordings that no order has any more: erased is erased. The database is
    asked, and not the folder, which may be lost."""
    live = box.settings.blobs
    there = [f.name for f in kept.glob("??/*") if not (live / f.parent.name / f.name).exists()]
    gone = box.load.unknown_recordings(there)
    for key in gone:
        (kept / key[:2] / key).unlink(missing_ok=True)
    return len(gone)
