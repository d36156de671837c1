"""What the embedded engine makes of requests that are too large, and of its own faults."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from services.decoding.server.http import LARGEST_BYTES, application

CHAT = "/v1/chat/completions"
KEY = {"Authorization": "Bearer right"}


class Broken:
    """A reader that fails."""

    def complete(self, *_: Any) -> None:
        raise RuntimeError("a latte for Abernathy")


@pytest.fixture
def client() -> TestClient:
    return TestClient(application(Broken(), "right"), raise_server_exceptions=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Content-Length": str(LARGEST_BYTES + 1)}, 413), ({"Transfer-Encoding": "chunked"}, 413)],
)
def test_a_body_past_the_most_is_refused_unread(client: TestClient, headers: Any, status: int) -> None:
    assert client.post(CHAT, headers=KEY | headers, content=iter([b"{}"])).status_code == status


def test_a_fault_names_no_words(client: TestClient) -> None:
    answer = client.post(CHAT, headers=KEY, json={})
    assert answer.status_code == 500
    assert "Abernathy" not in answer.text
