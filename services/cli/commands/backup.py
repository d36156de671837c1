"""`saycart backup FOLDER` and `saycart restore FOLDER`: database, recordings and the signing secret.

A backup is a copy of the database in a folder named by its time. All backups share one folder of recordings:
files never change, so each is copied once. The database is copied before the recordings, so that no order in
the copy lacks its file.
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
    """Copy database, recordings and the secret that signs customers' links. The stack may be running."""
    with errors_shown() as console, opened() as box:
        private.keep_private()
        target = folder / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        unfinished = target.with_name(f"{target.name}.unfinished")
        unfinished.mkdir(parents=True)
        file = unfinished / dumps.name_of(box.database.url)
        dumps.dump(box.database.url, file)
        secret = box.settings.home / "secret"
        if secret.is_file():
            private.write(unfinished / "secret", secret.read_text())
        copied, removed = 0, 0
        if not box.settings.recordings_url:
            copied = _copy_recordings(box.settings.blobs, folder / RECORDINGS)
            removed = _delete_unused(box, folder / RECORDINGS)
        manifest = {"made_at": target.name, "sha256": dumps.sha256(file)}
        private.write(unfinished / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        unfinished.rename(target)
        files = f"{copied} new, {removed} unused deleted"
        if box.settings.recordings_url:
            files = "in their bucket, not copied"
        console.print(f"{escape(str(target))}: database; recordings: {files}")


def restore(
    folder: Folder,
    backup: Annotated[str | None, typer.Option(help="the backup's folder name; default: the newest")] = None,
) -> None:
    """Restore a backup into this home, which must not have a database yet. Then run `saycart run`."""
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
            # The workers that held orders at the time don't work on this copy.
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
    backups = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not backups:
        raise InputError(f"No complete backup in {folder}", hint="Create one with `saycart backup FOLDER`.")
    return backups[-1]


def _checksum(chosen: Path) -> str:
    try:
        return str(json.loads((chosen / MANIFEST).read_text())["sha256"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{chosen} is not a complete backup: {error}") from None


def _copy_recordings(source: Path, target: Path) -> int:
    """Copy missing files; return how many."""
    copied = 0
    for file in source.glob("??/*"):
        to = target / file.parent.name / file.name
        if to.exists():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        unfinished = to.with_name(f"{to.name}.{os.getpid()}")
        try:
            shutil.copyfile(file, unfinished)
        except FileNotFoundError:  # deleted meanwhile
            unfinished.unlink(missing_ok=True)
            continue
        unfinished.rename(to)
        copied += 1
    return copied


def _delete_unused(box: Container, backups: Path) -> int:
    """Delete recordings from the backups that no order refers to any more, since erasing includes backups.
    The database decides, not the folder of recordings, which may be lost."""
    live = box.settings.blobs
    missing = [f.name for f in backups.glob("??/*") if not (live / f.parent.name / f.name).exists()]
    unused = box.load.unknown_recordings(missing)
    for key in unused:
        (backups / key[:2] / key).unlink(missing_ok=True)
    return len(unused)
