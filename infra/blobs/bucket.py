"""Recordings in a bucket of an S3 server, which several machines share.

An upload is spooled to an unnamed file, and put in one request once it is complete, under a new name: nothing
is ever overwritten. A recording is transcribed from such a file, too. Unnamed files disappear with their
process, however it ends.

Imported only if a bucket is configured. The threads of `obstore` start with its first request and don't
survive a fork, so workers create their stores in the processes that use them.
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

from infra.blobs.store import BlobWriter, StoreAway, fill, is_key, name_of, space

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

# Timeouts of one request, whose body is at most one upload. The client waits for the put meanwhile.
_CONNECT, _REQUEST = timedelta(seconds=2), timedelta(seconds=15)
_RETRIES, _RETRIED = 2, timedelta(seconds=6)
# Bytes of one request for reading. Most recordings are one chunk; a slow client holds no connection to the
# server between chunks.
_CHUNK = 1 << 20
_MAX_ERROR_CHARS = 300
_CODE = re.compile(r"<Code>(\w{1,60})</Code>", re.ASCII)


class BlobBucket:
    """`Blobs`: objects `<prefix>/<first two of key>/<key>`."""

    def __init__(self, url: str, endpoint: str, spool: Path) -> None:
        """`url` is `s3://BUCKET` or `s3://BUCKET/PREFIX`; `endpoint` the server's address if it isn't
        AWS's or the environment's; `spool` a folder for unnamed files.

        Raises:
            ValueError: `url` or `endpoint` is invalid.
        """
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("it is not s3://BUCKET or s3://BUCKET/PREFIX")
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise ValueError("its server's address doesn't begin with https:// or http://")
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
        except BaseError as error:  # an invalid AWS variable
            raise StoreAway(_short(error)) from error

    def check(self) -> None:
        """See `Blobs.check`: puts a probe twice, and deletes it. The second put must be refused: a server
        that ignores the condition would overwrite recordings."""
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
        raise StoreAway("the server ignores `If-None-Match` of a PUT, and would overwrite recordings")

    def open(self) -> BucketWriter:
        """See `Blobs.open`."""
        return BucketWriter(self, self._unnamed())

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        """See `Blobs.local`: an unnamed copy, which only this process can open."""
        with self._unnamed() as file:
            with _answered():
                for chunk in obstore.get(self._store, name_of(key)).stream(_CHUNK):
                    fill(file, chunk)
            yield Path(f"/dev/fd/{file.fileno()}")

    def delete(self, key: str) -> None:
        """See `Blobs.delete`."""
        self._delete(name_of(key))

    def older_than(self, seconds: float) -> Iterator[str]:
        """See `Blobs.older_than`, by the server's clock and ours."""
        until = datetime.now(UTC) - timedelta(seconds=seconds)
        with _answered():
            for objects in obstore.list(self._store):
                for meta in objects:
                    folder, _, key = meta["path"].rpartition("/")
                    if is_key(key) and folder == key[:2] and meta["last_modified"] < until:
                        yield key

    def clear_leftovers(self) -> None:
        """See `Blobs.clear_leftovers`: unnamed files leave nothing behind."""

    def put(self, name: str, content: IO[bytes] | bytes) -> None:
        """Create an object in one request; raises `AlreadyExistsError` if the name is taken."""
        headers = {"Cache-Control": "private, no-store"}
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


class BucketWriter(BlobWriter):
    """A recording that is spooled locally, and put when committed."""

    def __init__(self, bucket: BlobBucket, spool: FileIO) -> None:
        super().__init__(spool, secrets.token_hex(16))
        self._bucket = bucket

    def commit(self) -> str:
        """See `BlobWriter.commit`. A put whose response was lost may have succeeded: that object belongs
        to no order, and the sweeper deletes it."""
        with self._or_discard(), _answered():
            self._file.seek(0)
            with suppress(AlreadyExistsError):  # ours: a retried put whose first response was lost
                self._bucket.put(name_of(self._key), self._file)
        self._file.close()
        return self._key


@contextmanager
def _answered() -> Iterator[None]:
    """Raise StoreAway for any error of the server or the network, except `not found` and `already exists`."""
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
    """Return the first line and the server's code; the rest is internals of the library, and signatures."""
    code = _CODE.search(str(error))
    line = str(error).partition("\n")[0].partition(" <?xml")[0]
    return f"{line[:_MAX_ERROR_CHARS]}{f' {code[1]}' if code else ''}"
