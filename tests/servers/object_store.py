"""An S3 server (moto) in a thread of this process, and settings that use it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

KEYS = {"AWS_ACCESS_KEY_ID": "saycart", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
_NUMBERS = count(1)


class ObjectStore:
    """The server; `asked` has its requests, as "PUT /bucket/name"."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._port = 0
        self.asked: list[str] = []
        self._application = DomainDispatcherApplication(create_backend_app)
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start on the same port as before, with the same content."""
        asked = self.asked

        class Noting(WSGIRequestHandler):
            def log_request(self, *_: Any) -> None:
                asked.append(f"{self.command} {self.path.partition('?')[0]}")

        self._server = make_server(
            "127.0.0.1", self._port, self._application, threaded=True, request_handler=Noting
        )
        self._port = self._server.port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Stop listening during the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @property
    def client(self) -> Any:
        """AWS's own client, independent of ours."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=KEYS["AWS_REGION"],
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )

    def bucket(self) -> str:
        """Create a bucket; return its name."""
        name = f"recordings-{next(_NUMBERS)}"
        self.client.create_bucket(Bucket=name)
        return name

    def names(self, bucket: str) -> list[str]:
        """Return the names of a bucket's objects."""
        found = self.client.list_objects_v2(Bucket=bucket).get("Contents", [])
        return [each["Key"] for each in found]
