"""Recordings in a bucket of an S3 server, which several machines share.

An upload is spooled to a file without a name, and put in one request when it is whole, under a name that
nothing has yet: never over another. A recording that is heard lies in such a file too. A file without a name
is gone with its process, however that ends, so nothing is left on any machine.

This module is imported where a bucket is named and not else. The threads of `obstore` begin with its first
request and do not survive a fork: the workers make their stores in the processes that use them.
"""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from infra.blobs.spool import Spooled, fill, space
from infra.blobs.store import StoreAway, is_key, name_of

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, S3Config

# Of one request, whose body is at most an upload, or a piece below. A caller waits for the put meanwhile.
_CONNECT, _REQUEST = timedelta(seconds=2), timedelta(seconds=15)
_RETRIES, _RETRIED = 2, timedelta(seconds=6)
# Bytes of one request of a recording that is read. Most are one piece; a slow listener to a long one holds no
# connection to the server in between.
_PIECE = 1 << 20
# As the API's own answer says it.
_NOT_CACHED = "private, no-store"
_MOST_OF_AN_ERROR = 300
_CODE = re.compile(r"<Code>(\w{1,60})</Code>", re.ASCII)


class BadAddress(ValueError):
    """Not the address of a bucket."""


class BlobBucket:
    """`Blobs`: objects `<prefix>/<first two of key>/<key>`."""

    def __init__(self, url: str, endpoint: str, spool: Path) -> None:
        """`url` is `s3://BUCKET` or `s3://BUCKET/PREFIX`; `endpoint` the server's address where it is not
        AWS's, or the environment's; `spool` a folder for files without a name.

        Raises:
            BadAddress: of `url` or `endpoint`.
        """
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise BadAddress("it is not s3://BUCKET or s3://BUCKET/PREFIX")
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise BadAddress("its server's address does not begin with https:// or http://")
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self._endpoint, self._spool = endpoint.rstrip("/"), spool

    @cached_property
    def _store(self) -> S3Store:
        config: S3Config = {}
        client: ClientConfig = {"connect_timeout": _CONNECT, "timeout": _REQUEST}
        if self._endpoint:
            config["endpoint"] = self._endpoint
            client["allow_http"] = self._endpoint.startswith("http://")
        try:
            return S3Store(
                self._bucket,
                prefix=self._prefix or None,
                config=config,
                client_options=client,
                retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRIED},
            )
        except BaseError as error:  # a variable of AWS's that can't be read
            raise StoreAway(_short(error)) from error

    def check(self) -> None:
        """See `Blobs.check`: puts a probe twice, and removes it. The second must be refused, since a server
        that ignores the condition would write over what is there."""
        name = f"probe/{secrets.token_hex(16)}"
        with _answered():
            self.put(name, b"probe")
        try:
            with _answered():
                self.put(name, b"another")
        except AlreadyExistsError:
            return
        finally:
            self._delete(name)
        raise StoreAway("the server writes over what is there: it ignores `If-None-Match` of a PUT")

    def open(self) -> BucketWriter:
        """See `Blobs.open`."""
        return BucketWriter(self, self._unnamed())

    def opened(self, key: str) -> OpenedObject:
        """See `Blobs.opened`."""
        name = name_of(key)
        with _answered():
            return OpenedObject(self._store, name, obstore.head(self._store, name)["size"])

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        """See `Blobs.local`: a copy without a name, which this process alone can open."""
        with self._unnamed() as file:
            with _answered():
                for piece in obstore.get(self._store, name_of(key)).stream(_PIECE):
                    fill(file, piece)
            yield Path(f"/dev/fd/{file.fileno()}")

    def delete(self, key: str) -> None:
        """See `Blobs.delete`."""
        self._delete(name_of(key))

    def older_than(self, seconds: float) -> Iterator[str]:
        """See `Blobs.older_than`, by the server's clock and ours."""
        until = datetime.now(UTC) - timedelta(seconds=seconds)
        return (key for key, found in self._listed() if found["last_modified"] < until)

    def _listed(self) -> Iterator[tuple[str, ObjectMeta]]:
        """A thousand objects are one request."""
        with _answered():
            for objects in obstore.list(self._store):
                for found in objects:
                    folder, _, key = found["path"].rpartition("/")
                    if is_key(key) and folder == key[:2]:
                        yield key, found

    def clear_leftovers(self) -> None:
        """See `Blobs.clear_leftovers`: a file without a name leaves none."""

    def put(self, name: str, content: IO[bytes] | bytes, media_type: str = "") -> None:
        """A new object in one request; raises `AlreadyExistsError` where there is one of that name."""
        headers = {"Cache-Control": _NOT_CACHED} | ({"Content-Type": media_type} if media_type else {})
        obstore.put(self._store, name, content, attributes=headers, mode="create", use_multipart=False)

    def _delete(self, name: str) -> None:
        try:
            with _answered():
                obstore.delete(self._store, name)
        except FileNotFoundError:  # some servers say so
            pass

    def _unnamed(self) -> FileIO:
        with space():
            self._spool.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryFile(dir=self._spool, buffering=0)


class BucketWriter(Spooled):
    """`BlobWriter`: spooled here, and put when it is committed."""

    def __init__(self, bucket: BlobBucket, spool: FileIO) -> None:
        super().__init__(spool, secrets.token_hex(16))
        self._bucket = bucket

    def commit(self, media_type: str = "application/octet-stream") -> str:
        """See `BlobWriter.commit`. A put whose answer was lost may have counted all the same: that object
        belongs to no order, and the sweeper removes it."""
        with self._or_discard(), _answered():
            self._file.seek(0)
            with suppress(AlreadyExistsError):  # ours, where the first answer was lost and the put sent again
                self._bucket.put(name_of(self._key), self._file, media_type)
        self._file.close()
        return self._key


class OpenedObject:
    """`Opened`: each piece is a request of its own."""

    def __init__(self, store: S3Store, name: str, size: int) -> None:
        self._store, self._name, self.size = store, name, size

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """See `Opened.pieces`."""
        stop = self.size if stop is None else stop
        while start < stop:
            with _answered():
                end = min(start + _PIECE, stop)
                piece = bytes(obstore.get_range(self._store, self._name, start=start, end=end))
            start += len(piece)
            yield piece

    def close(self) -> None:
        """Nothing is held."""


@contextmanager
def _answered() -> Iterator[None]:
    """Raises StoreAway for whatever the server, or the way to it, had to say but `not found` and `exists
    already`."""
    try:
        yield
    except AlreadyExistsError:
        raise
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise StoreAway(_short(error)) from error
        raise FileNotFoundError(_short(error)) from error
    except BaseError as error:
        raise StoreAway(_short(error)) from error


def _short(error: Exception) -> str:
    """The first line and the server's code: the rest is the library's inside, and what a server says about a
    signature."""
    code = _CODE.search(str(error))
    line = str(error).partition("\n")[0].partition(" <?xml")[0]
    return f"{line[:_MOST_OF_AN_ERROR]}{f' {code[1]}' if code else ''}"
