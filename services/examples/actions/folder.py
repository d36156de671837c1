"""The tools of an agent, on one folder and nothing beside it.

A path is checked as text (relative, no `..`, no odd characters), and then walked: each part is opened from
the folder before it, by descriptor, with O_NOFOLLOW. So no path is resolved twice, and a link that is put in
place of a folder between check and use is refused as one that was there before. A file is written beside its
place and renamed into it: that takes the place of what stands there, link or not, and writes through none.

Covered: absolute paths, `..`, links at any part of a path (to the inside too), links put there at any moment,
hard links to a file elsewhere (not read, and writing parts from it), pipes and devices, sizes, number of
files.
Not covered: another process that moves an open folder out of the root while it is walked, or that mounts
something in it; whoever can do that has the folder anyway.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType

from schemas.errors import InputError

FILE_BYTES = 16_000
MOST_FILES = 200
MOST_PARTS, MOST_CHARS = 6, 120
FOUND = 8
"""Paths that a search tells of."""

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


class ToolRefused(InputError):
    """A path out of the folder, a link, something too large: nothing was read and nothing was written. It
    goes back to the model as what was seen, so `detail` is written for it."""

    code = "tool_refused"
    hint = "Name a file inside the folder by its path from there, such as notes/a.txt."


class Folder:
    """Plain UTF-8 files under `root`; close it after use, or use it in a `with`. One thread at a time.

    Raises:
        ToolRefused: there is no such folder.
    """

    def __init__(self, root: Path) -> None:
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolRefused(f"the folder can't be opened: {error.strerror}") from None

    def files(self) -> list[str]:
        """Paths of plain files, sorted, at most `MOST_FILES`. Links are not followed and not listed, nor is
        what could not be read by its path: a name with a line break would say to the model what it likes."""
        found: list[str] = []
        for at, folders, names, descriptor in os.fwalk(".", dir_fd=self._root, follow_symlinks=False):
            folders[:] = sorted(folders) if len(PurePosixPath(at).parts) < MOST_PARTS else []
            for name in sorted(names):
                path = PurePosixPath(at, name).as_posix()
                with suppress(OSError, ToolRefused):  # gone since it was listed, or no name to tell
                    checked(path)
                    about = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode):
                        found.append(path)
            if len(found) >= MOST_FILES:
                break
        return sorted(found)[:MOST_FILES]

    def read(self, path: str) -> str:
        """The file's text.

        Raises:
            ToolRefused: outside, not there, a link, no plain file, over `FILE_BYTES`, or no text.
        """
        with self._parent(path) as (folder, name):
            # Without O_NONBLOCK a pipe would be waited on before it is known to be one.
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=folder)
            with os.fdopen(file, "rb") as opened:
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
                    raise ToolRefused(f"{path} is no plain file")
                content = opened.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            raise ToolRefused(f"{path} is larger than {FILE_BYTES} bytes")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise ToolRefused(f"{path} is no text") from None

    def write(self, path: str, text: str) -> None:
        """Make the file, and folders on its way, or give it this content in place of its own.

        Raises:
            ToolRefused: as `read`, or the text is over `FILE_BYTES`, or there are files enough.
        """
        content = text.encode(errors="replace")
        if len(content) > FILE_BYTES:
            raise ToolRefused(f"the text is larger than {FILE_BYTES} bytes")
        with self._parent(path, make=True) as (folder, name):
            self._may_stand(folder, name, path)
            beside = f".{uuid.uuid4().hex}.part"
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644, dir_fd=folder)
            try:
                with os.fdopen(file, "wb") as opened:
                    opened.write(content)
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(beside, dir_fd=folder)
                raise

    def search(self, words: str) -> list[str]:
        """Paths of files that have the words, as they stand, in their text or name; case does not count. At
        most `FOUND`. Files that can't be read are passed over."""
        sought, found = " ".join(words.split()).lower(), []
        if not sought:
            raise ToolRefused("there is nothing to look for")
        for path in self.files():
            with suppress(ToolRefused):
                if sought in path.lower() or sought in " ".join(self.read(path).split()).lower():
                    found.append(path)
        return found[:FOUND]

    def _may_stand(self, folder: int, name: str, path: str) -> None:
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            if len(self.files()) >= MOST_FILES:
                raise ToolRefused(f"there are {MOST_FILES} files already") from None
            return
        if not stat.S_ISREG(about.st_mode):
            raise ToolRefused(f"{path} is no plain file")

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Descriptor of the folder that a path's last part is in, and that part."""
        *folders, name = checked(path)
        here = os.dup(self._root)
        try:
            for part in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=here)
                deeper = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=here)
                os.close(here)
                here = deeper
            yield here, name
        except FileNotFoundError:
            raise ToolRefused("there is no such file") from None
        except OSError as error:  # a link in the way reads as ELOOP or ENOTDIR
            raise ToolRefused(f"{path} can't be opened: {error.strerror}") from None
        finally:
            os.close(here)

    def close(self) -> None:
        os.close(self._root)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked(path: str) -> tuple[str, ...]:
    """The parts of a path that may be walked: one at least, none of them `..`.

    Raises:
        ToolRefused: with the reason, in words for the model.
    """
    if len(path) > MOST_CHARS or not path.isprintable() or "\\" in path:
        raise ToolRefused("the path is too long or has odd characters")
    if path.startswith(("/", "~")):
        raise ToolRefused("the path has to begin inside the folder")
    parts = PurePosixPath(path).parts
    if ".." in parts:
        raise ToolRefused("the path leads out of the folder")
    if not parts or len(parts) > MOST_PARTS:
        raise ToolRefused("the path names no file" if not parts else "the path is too deep")
    return parts
