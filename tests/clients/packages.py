"""`make packages`: wheels and tarballs of services/clients in dist/, each tested in its own environment.

Their dependencies are installed by the hashes of requirements.lock and package-lock.json.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from infra.processes.ports import any_free
from infra.settings import REPOSITORY
from tests.clients.service import at_work, key_of, script
from tests.endpoints import SECRET
from tests.integration.api_world import running, wav
from tests.servers.staged_server import model, staged_server
from tests.supply import locks

CLIENTS = REPOSITORY / "services/clients"
DIST = REPOSITORY / "dist"
ENGINE = "http://127.0.0.1:8080"
NPM = ("npm", "--silent", "--no-audit", "--no-fund")
# The wheels' dependencies, also indirect ones; pip refuses any others.
NEEDED = set(
    "annotated-types anyio certifi h11 httpcore httpx idna llguidance pydantic pydantic-core "
    "typing-extensions typing-inspection".split()
)


def ran(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command and return what it printed; raises CalledProcessError."""
    there = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | environment
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=there, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def copied(package: Path, folder: Path) -> Path:
    """Copy a package to build it, without earlier builds."""
    unwanted = shutil.ignore_patterns("node_modules", "dist", "build", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(package, folder / package.name, ignore=unwanted))


def wheel(package: Path, folder: Path, out: Path) -> Path:
    """Build a Python package; return its wheel."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel", "--no-index")
    ran(*pip, "--no-deps", "--no-build-isolation", "-w", out, copied(package, folder), cwd=folder)
    [built] = out.glob(f"saycart_{'client' if package.name == 'python' else package.name}-*.whl")
    return built


def npm_project(folder: Path) -> Path:
    """Copy the npm package and install its build tools."""
    package = copied(CLIENTS / "typescript", folder)
    ran(*NPM, "ci", cwd=package)
    return package


def tarball(folder: Path, out: Path, **environment: str) -> Path:
    """Build the npm package, run its own tests, and return its tarball."""
    package = npm_project(folder)
    built = out / ran("npm", "pack", "--silent", "--pack-destination", out, cwd=package).split()[-1]
    print(ran("npm", "test", cwd=package, **environment), end="")
    return built


def tried_wheel(built: Path, folder: Path, text: str, **environment: str) -> None:
    """Install a wheel in its own environment, and run a script there."""
    venv.create(folder, with_pip=True)
    pins = [pin for pin in locks.pins("requirements.lock") if pin.name in NEEDED]
    lines = [
        " ".join([f"{p.name}=={p.version}", *(f"--hash=sha256:{one}" for one in p.hashes)]) for p in pins
    ]
    wanted = folder / "requirements.txt"
    ours = hashlib.sha256(built.read_bytes()).hexdigest()
    wanted.write_text("\n".join([*lines, f"{built} --hash=sha256:{ours}"]))
    pip = (folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    ran(*pip, "--require-hashes", "-r", wanted, cwd=folder)
    print(ran(folder / "bin/python", "-c", text, cwd=folder, **environment), end="")


def tried_tarball(built: Path, folder: Path, text: str, **environment: str) -> None:
    """Install a tarball in its own project, and run a script there."""
    folder.mkdir()
    ran(*NPM, "install", "--offline", built, cwd=folder)
    (folder / "order.mjs").write_text(text)
    print(ran("node", "order.mjs", cwd=folder, **environment), end="")


def npm_answers() -> bool:
    """Return whether npm is installed and reaches its registry."""
    if not shutil.which("npm"):
        return False
    return subprocess.run(["npm", "ping", "--silent"], check=False).returncode == 0


def main() -> None:
    """Build everything, and test it against a running service and an engine that answers with a ticket."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    ticket, port = model('{"priority":"high","note":"down"}'), any_free()
    with tempfile.TemporaryDirectory(prefix="saycart-packages-") as name, running(Path(name, "home")) as api:
        folder, there = Path(name), {"SAYCART": api.url, "KEY": key_of(api), "NO_PROXY": "*"}
        with at_work(api, port), staged_server(ticket) as engine:
            built = wheel(CLIENTS / "python", folder, DIST)
            tried_wheel(built, folder / "a", script("python"), SECRET=SECRET, PORT=str(port), **there)
            [example] = re.findall(r"```python\n(.+?)```", (CLIENTS / "masked/README.md").read_text(), re.S)
            example = example.replace(ENGINE, engine.url) + "print(found)\n"
            tried_wheel(wheel(CLIENTS / "masked", folder, DIST), folder / "b", example, **there)
            (folder / "b/ours.py").write_text(example.split("engine = ")[0])
            print(ran(folder / "b/bin/saycart-masked", "check", "ours:Ticket", cwd=folder / "b"), end="")
            if npm_answers():
                built = tarball(folder, DIST, RECORDING=base64.b64encode(wav()).decode(), **there)
                tried_tarball(built, folder / "c", script("ts"), **there)
            else:
                print("no npm or no registry here: @saycart/client was not built")
                if os.environ.get("CI") == "true":
                    sys.exit(1)
    print(*sorted(str(file.relative_to(REPOSITORY)) for file in DIST.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
