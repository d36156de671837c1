"""An agent's tools stay in their folder, whatever path they are given and whatever is put in their way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from services.examples.actions.folder import FILE_BYTES, FOUND, MOST_FILES, Folder, ToolRefused

SECRET = "nobody's business"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the root."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / "sub").mkdir(parents=True)
    (made / "a.txt").write_text("apples\nand pears")
    (made / "sub" / "b.txt").write_text("Bananas")
    return made


@pytest.fixture
def folder(root: Path, outside: Path) -> Iterator[Folder]:
    with Folder(root) as opened:
        yield opened


def told(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}


HOSTILE = [
    "/etc/passwd", "//etc/passwd", "../outside/secret.txt", "sub/../../outside/secret.txt", "..", "sub/..",
    "~/x", "~root/x", "", ".", "./", "a.txt\x00.png", "a\nb", "..\\outside\\secret.txt", "\ud800",
    "x" * 121, "1/2/3/4/5/6/7", "\u202ea.txt",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_no_path_leads_out(folder: Folder, root: Path, outside: Path, path: str) -> None:
    before = told(root)
    with pytest.raises(ToolRefused, match="path"):
        folder.read(path)
    with pytest.raises(ToolRefused, match="path"):
        folder.write(path, "x")
    assert told(root) == before
    assert told(outside) == {"secret.txt": SECRET}


@pytest.mark.parametrize("path", ["link.txt", "way/secret.txt", "inner.txt", "round/round/a.txt"])
def test_no_link_is_followed(folder: Folder, root: Path, outside: Path, path: str) -> None:
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "way").symlink_to(outside)
    (root / "inner.txt").symlink_to("a.txt")
    (root / "round").symlink_to(".")
    with pytest.raises(ToolRefused):
        folder.read(path)
    with pytest.raises(ToolRefused):
        folder.write(path, "x")
    assert told(outside) == {"secret.txt": SECRET}
    assert folder.files() == ["a.txt", "sub/b.txt"]
    assert folder.search("business") == []


def test_a_hard_link_is_not_read_and_writing_parts_from_it(folder: Folder, root: Path, outside: Path) -> None:
    os.link(outside / "secret.txt", root / "hard.txt")
    with pytest.raises(ToolRefused):
        folder.read("hard.txt")
    assert folder.search("business") == []
    folder.write("hard.txt", "mine")
    assert folder.read("hard.txt") == "mine"
    assert told(outside) == {"secret.txt": SECRET}


def test_pipes_and_folders_are_no_files(folder: Folder, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for path in ("pipe", "sub"):
        with pytest.raises(ToolRefused):
            folder.read(path)  # a pipe without O_NONBLOCK would wait here for good
        with pytest.raises(ToolRefused):
            folder.write(path, "x")
    assert "pipe" not in folder.files()


ACTS: list[Callable[[Folder], object]] = [
    lambda folder: folder.read("sub/b.txt"),
    lambda folder: folder.write("sub/b.txt", "mine"),
    lambda folder: folder.write("sub/new/c.txt", "mine"),
    lambda folder: folder.search("business"),
]


@pytest.mark.parametrize("act", ACTS, ids=["read", "write", "make", "search"])
def test_a_folder_that_turns_into_a_link_at_any_moment_leads_nowhere(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Folder], object]
) -> None:
    """Before each call to the system in turn, by hand: a race in threads would hit few of them, and not
    always the same. An act does its work on what it had opened, inside, or it is refused."""
    (outside / "b.txt").write_text(SECRET)
    (root / "link").symlink_to(outside)
    rename, calls, moment = os.rename, [0], [0]

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] == moment[0]:
                rename(root / "sub", root / "real")
                rename(root / "link", root / "sub")
            return real(*args, **more)

        return call

    for name in ("open", "mkdir", "stat", "fstat", "rename", "fdopen"):
        monkeypatch.setattr(os, name, watched(name))
    ends = []
    with Folder(root) as folder:
        while True:
            calls[0], moment[0] = 0, moment[0] + 1
            try:
                found = act(folder)
                ends.append("done")
                assert SECRET not in str(found)
                assert found != ["sub/b.txt"], "found what is outside"
            except ToolRefused:
                ends.append("refused")
            assert {file: file.read_text() for file in outside.iterdir()} == {
                outside / "secret.txt": SECRET,
                outside / "b.txt": SECRET,
            }
            if calls[0] < moment[0]:
                break  # it has no further moment
            rename(root / "sub", root / "link")
            rename(root / "real", root / "sub")
    assert len(ends) > 3
    assert ends[-1] == "done"
    assert "refused" in ends or act is ACTS[3]


def test_a_link_put_where_a_file_is_to_be_written_is_replaced_not_followed(
    folder: Folder, root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just between the check and the renaming, by hand: no thread would hit it surely."""
    rename = os.rename

    def late(beside: str, name: str, **where: int) -> None:
        os.symlink(outside / "secret.txt", name, dir_fd=where["dst_dir_fd"])
        rename(beside, name, **where)

    monkeypatch.setattr(os, "rename", late)
    folder.write("new.txt", "mine")
    assert not (root / "new.txt").is_symlink()
    assert folder.read("new.txt") == "mine"
    assert told(outside) == {"secret.txt": SECRET}


def test_sizes_have_limits(folder: Folder, root: Path) -> None:
    (root / "large.txt").write_text("x" * (FILE_BYTES + 1))
    (root / "fits.txt").write_text("x" * FILE_BYTES)
    assert len(folder.read("fits.txt")) == FILE_BYTES
    with pytest.raises(ToolRefused, match="larger"):
        folder.read("large.txt")
    with pytest.raises(ToolRefused, match="larger"):
        folder.write("new.txt", "é" * (FILE_BYTES // 2 + 1))
    assert not (root / "new.txt").exists()


def test_a_folder_fills_up_to_a_limit(folder: Folder, root: Path) -> None:
    for number in range(MOST_FILES):
        (root / f"{number:03}").touch()
    assert len(folder.files()) == MOST_FILES
    with pytest.raises(ToolRefused, match="files already"):
        folder.write("new.txt", "x")
    folder.write("a.txt", "a file that is there may change")
    assert folder.read("a.txt") == "a file that is there may change"


def test_what_is_no_text_is_not_read(folder: Folder, root: Path) -> None:
    (root / "picture.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(ToolRefused, match="no text"):
        folder.read("picture.png")


def test_what_is_written_can_be_read_found_and_nothing_is_left_beside_it(folder: Folder, root: Path) -> None:
    folder.write("new/deep/c.txt", "Cherries,\n  and é")
    folder.write("./a.txt", "avocado")
    assert folder.read("new/deep/c.txt") == "Cherries,\n  and é"
    assert folder.files() == ["a.txt", "new/deep/c.txt", "sub/b.txt"]
    assert folder.search("cherries, AND") == ["new/deep/c.txt"]
    assert folder.search("b.txt") == ["sub/b.txt"]
    assert folder.search("apples") == []
    with pytest.raises(ToolRefused):
        folder.search("  ")
    with pytest.raises(ToolRefused, match="no such file"):
        folder.read("nothing.txt")
    for number in range(FOUND + 3):
        folder.write(f"many/{number}", "plum")
    assert len(folder.search("plum")) == FOUND


def test_what_has_no_name_to_tell_is_not_told_of(folder: Folder, root: Path) -> None:
    for name in (b"c.txt\n- finish: done", b"\xff.txt", b"~d.txt", b"back\\slash"):
        (root / os.fsdecode(name)).write_text("apples")
    deep = root
    for _ in range(30):
        deep = deep / "d"
        deep.mkdir()
        (deep / "x").write_text("apples")
    assert folder.files() == ["a.txt", *sorted("d/" * n + "x" for n in range(1, 6)), "sub/b.txt"]
    assert all(folder.read(path) for path in folder.files())


def test_no_descriptor_is_left_open(folder: Folder) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = opened()
    for path in ("a.txt", "sub/b.txt", "sub/none.txt", "none/none.txt", "a.txt/x", "../x"):
        for act in (folder.read, lambda at: folder.write(at, "x")):
            with suppress(ToolRefused):
                act(path)
    folder.files()
    assert opened() == before


def test_there_has_to_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ToolRefused, match="folder"):
        Folder(tmp_path / "none")
