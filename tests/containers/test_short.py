"""A short test of the containers, for CI with a Docker engine: `make test-containers-short`.

It builds two images and sends orders as text, without engines.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from tests.containers.composed import BUILD_S, WANTED, Composed, Refused, base_images, begun, docker, engine
from tests.containers.till import Till

pytestmark = pytest.mark.skipif(
    WANTED != "short", reason="builds two images and starts them, some minutes: make test-containers-short"
)
WORKERS = ("worker-decode",)
UP_S, ENDS_S = 120, 150


@pytest.fixture(scope="module")
def composed() -> Iterator[Composed]:
    # CI doesn't fail on machines without Compose or base images.
    lacks = pytest.skip if os.environ.get("CI") == "true" else pytest.fail
    if problem := engine():
        lacks(problem)
    try:
        base_images()
    except Refused as error:
        lacks(f"no base images, neither from a registry nor of our own: {str(error)[-200:]}")
    with begun() as stack:
        stack.compose("build", "api", WORKERS[0], timeout_s=BUILD_S)
        stack.compose("up", "-d", "api", *WORKERS, timeout_s=UP_S)
        stack.until_well("redis", "postgres", "migrate", "api", *WORKERS, timeout_s=UP_S)
        yield stack


def test_orders_outlast_the_death_of_a_worker(composed: Composed) -> None:
    """Without a decode server each order goes to a human."""
    till = Till(composed.url, composed.key())
    till.bring_menus()
    till.type("hc-01")
    till.settled(ENDS_S)
    before = composed.container("worker-decode")["RestartCount"]
    composed.crash("worker-decode")
    till.type("hc-02")
    till.settled(ENDS_S)
    assert [sample.order.status for sample in till.samples if sample.order] == [
        "needs_review",
        "needs_review",
    ]
    assert composed.container("worker-decode")["RestartCount"] > before


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="no skopeo here (apt-get install skopeo)")
def test_an_image_of_a_release_says_what_it_is_and_lists_what_is_in_it(
    composed: Composed, tmp_path: Path
) -> None:
    """Reuses the build of `composed`."""
    subprocess.run(["make", "images", "ARGS=api"], cwd=REPOSITORY, check=True, timeout=BUILD_S)
    image = f"saycart-api:{version('saycart')}"
    labels = json.loads(docker("image", "inspect", image))[0]["Config"]["Labels"]
    said = {name.rpartition(".")[2]: value for name, value in labels.items()}
    assert (said["version"], said["licenses"]) == (version("saycart"), "Apache-2.0")
    assert len(said["revision"].removesuffix("-dirty")) == 40
    inside = docker("run", "--rm", image, "cat", "/usr/share/doc/saycart/saycart-api.cdx.json")
    assert inside == (REPOSITORY / "dist/saycart-api.cdx.json").read_text()
    copy = ["skopeo", "copy", "-q", "--all", f"oci:dist/{image}", f"dir:{tmp_path}"]
    subprocess.run(copy, cwd=REPOSITORY, check=True, timeout=UP_S)
    assert len(json.loads((tmp_path / "manifest.json").read_text())["manifests"]) == 2
    listed = {part["name"]: part["version"] for part in json.loads(inside)["components"]}
    debian = docker("run", "--rm", image, "dpkg-query", "-W", "-f", "${Package} ${Version}\\n")
    assert dict(line.split() for line in debian.splitlines()).items() <= listed.items()
    assert {"celery", "python", "htmx.org"} <= listed.keys()
    assert not {"pytest", "faster-whisper", "xllamacpp"} & listed.keys()
