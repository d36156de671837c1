"""Pack files for a GPU machine without a network, in pieces of limited size."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from infra.settings import REPOSITORY

GLIBC = ("2_39", "2_35", "2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17")
CARRIED = ("services", "schemas", "infra", "tests", "pyproject.toml")
EXCLUDED = re.compile(r"^infra/(adapters|recognizers)/.*\.safetensors$")


def fetched(pins: Iterable[str], folder: Path, python: str) -> None:
    """Download pinned wheels for the GPU machine. Raises CalledProcessError if one is unavailable."""
    platforms = [f"--platform=manylinux_{version}_x86_64" for version in GLIBC]
    only = ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    target = [*only, *platforms, "--platform=manylinux2014_x86_64", "--platform=manylinux1_x86_64"]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *target, "-d", folder, *pins], check=True)


def unzipped(wheels: Path, folder: Path) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


def split(pieces: Iterator[bytes], out: Path, name: str) -> list[Path]:
    """Write pieces as `name`-00, `name`-01 and so on."""
    files = []
    for number, piece in enumerate(pieces):
        files.append(out / f"{name}-{number:02}")
        files[-1].write_bytes(piece)
    return files


def read_in(file: Path, size: int) -> Iterator[bytes]:
    with file.open("rb") as source:
        while piece := source.read(size):
            yield piece


def code(file: Path) -> Path:
    """Archive the working tree without weights."""
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-co", "--exclude-standard", "--", *CARRIED]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    with tarfile.open(file, "w:gz") as archive:
        for name in names:
            if not EXCLUDED.search(name) and (REPOSITORY / name).is_file():
                archive.add(REPOSITORY / name, f"code/{name}")
    return file
