"""Signatures of webhooks, and the waits between tries."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.settings import REPOSITORY, Settings
from infra.webhooks import PostResult, signed
from schemas.shops.webhook import EVENTS, TEST
from services.workers.courier import RetryPolicy
from services.workers.stack import Stack

# The specification's own example.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = datetime.fromtimestamp(1614265330, UTC)
BODY = '{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_published_example_is_signed_as_published() -> None:
    assert signed(SECRET, MESSAGE_ID, BODY, SENT_AT) == {
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


def test_the_documented_types_are_those_that_there_are() -> None:
    page = (REPOSITORY / "docs/webhooks.md").read_text()
    assert {*re.findall(r"^\| `(order\.\w+)`", page, re.MULTILINE)} == {*EVENTS, TEST}


def test_waits_are_drawn_below_a_width_that_doubles_up_to_a_cap() -> None:
    patience = RetryPolicy(attempts=100, first_s=2, cap_s=60)
    failed = PostResult(500, "answered 500")
    for attempt, widest in ((1, 2), (2, 4), (5, 32), (6, 60), (99, 60)):
        drawn = [patience.next_s(attempt, failed) or 0.0 for _ in range(300)]
        assert 0 <= min(drawn) < 0.2 * widest, "full jitter reaches down to nothing"
        assert 0.8 * widest < max(drawn) <= widest


@pytest.mark.parametrize(
    ("attempt", "answer", "wait_s"),
    [
        (3, PostResult(None, "refused"), None),
        (1, PostResult(410, "answered 410"), None),
        (1, PostResult(429, "answered 429", retry_after_s=30), 30),
        (1, PostResult(503, "answered 503", retry_after_s=86_400), 60),
    ],
    ids=["the last try", "gone", "asked to wait", "asked to wait past the cap"],
)
def test_when_the_next_try_is(attempt: int, answer: PostResult, wait_s: float | None) -> None:
    assert RetryPolicy(attempts=3, first_s=2, cap_s=60).next_s(attempt, answer) == wait_s


def test_the_stack_has_a_courier_where_shops_may_have_endpoints(tmp_path: Path) -> None:
    for endpoints, couriers in (("off", 0), ("public", 1)):
        stack = Stack(
            Settings(home=tmp_path, redis_url="redis://q", llm_url="http://llm", webhook_endpoints=endpoints)  # type: ignore[arg-type]
        )
        with socket.socket() as listener:
            names = [child.name for child in stack._children(listener)]
        assert names.count("courier") == couriers
