"""Print an image's contents as JSON, for `sbom.py`. Runs inside, so it only uses the standard library."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import sysconfig
from importlib.metadata import distributions
from pathlib import Path

# The environment, the engines, and the packages of the base image's own Python, such as pip.
FOLDERS = [*sys.path, sysconfig.get_path("purelib", "posix_prefix", {"base": sys.base_prefix})]
QUERY = ["dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}\n"]
DEBIAN = subprocess.run(QUERY, check=True, capture_output=True, text=True).stdout

contents = {
    "python": platform.python_version(),
    "release": platform.freedesktop_os_release()["VERSION_CODENAME"],
    "packages": sorted({(found.name, found.version) for found in distributions(path=FOLDERS)}),
    "debian": [line.split() for line in DEBIAN.splitlines()],
    "libraries": {
        libs.name: sorted(file.name for file in libs.iterdir())
        for folder in FOLDERS
        for libs in Path(folder).glob("*.libs")
    },
}
print(json.dumps(contents))
