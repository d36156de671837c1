"""Signatures, the waits between tries, what is told, and settings that can't be used."""

from __future__ import annotations

import base64
import json
import re
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from infra.settings import REPOSITORY, Settings
from infra.webhooks import Answer, Signer
from schemas.errors import InputError
from schemas.lifecycle import SETTLED
from schemas.shops.webhook import TYPES, types_named
from services.settings_checks import webhook_signer
from services.workers.courier import Patience
from services.workers.stack import Stack

# The specification's own example.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = datetime.fromtimestamp(1614265330, UTC)
BODY = '{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()


def test_the_published_example_is_signed_as_published() -> None:
    assert Signer(SECRET).headers(MESSAGE_ID, BODY, SENT_AT) == {
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


def test_during_a_change_of_secrets_each_alone_is_enough() -> None:
    headers = Signer(f"{OTHER} {SECRET}").headers("msg_1", BODY, datetime.now(UTC))
    for secret in (SECRET, OTHER):
        assert Webhook(secret).verify(BODY, headers) == json.loads(BODY)
    third = "whsec_" + base64.b64encode(b"t" * 32).decode()
    with pytest.raises(WebhookVerificationError):
        Webhook(third).verify(BODY, headers)


@pytest.mark.parametrize(
    "secrets", ["", " ", "whsec_", "whsec_c2hvcnQ=", SECRET[6:], "whsec_!!!", f"{SECRET} x"]
)
def test_bad_secrets_are_refused_and_not_quoted(secrets: str) -> None:
    with pytest.raises(ValueError, match="secret") as caught:
        Signer(secrets)
    assert SECRET[6:] not in str(caught.value)


def documented() -> Any:
    """The `verified` of docs/webhooks.md."""
    text = (REPOSITORY / "docs/webhooks.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    space: dict[str, Any] = {}
    exec(code[1], space)
    return space["verified"]


def test_the_documented_python_verifies_what_we_sign() -> None:
    headers = Signer(f"{OTHER} {SECRET}").headers("msg_1", BODY, datetime.now(UTC))
    assert documented()(SECRET, headers, BODY.encode()) == json.loads(BODY)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"},
        pytest.param({"webhook-timestamp": str(int(time.time()) - 400)}, id="of 400 seconds ago"),
        {"webhook-timestamp": "soon"},
        {"webhook-signature": "v1"},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v2,AAAA"},
        {"webhook-signature": ""},
    ],
    ids=str,
)
def test_the_documented_python_refuses_what_was_changed(change: dict[str, str]) -> None:
    headers = Signer(SECRET).headers("msg_1", BODY, datetime.now(UTC))
    with pytest.raises(ValueError):  # noqa: PT011  (of any kind, as its docstring says)
        documented()(SECRET, headers | change, BODY.encode())


def test_the_documented_python_refuses_another_body_and_an_old_message() -> None:
    headers = Signer(SECRET).headers("msg_1", BODY, datetime.now(UTC))
    with pytest.raises(ValueError, match="no signature"):
        documented()(SECRET, headers, BODY.encode() + b" ")
    with pytest.raises(ValueError, match="too old"):
        documented()(SECRET, headers | {"webhook-timestamp": "1614265330"}, BODY.encode())


def test_whatever_settles_an_order_has_a_message() -> None:
    assert set(TYPES) == SETTLED
    assert len(set(TYPES.values())) == len(TYPES)


def test_types_are_chosen_by_name_and_completed_is_always_told() -> None:
    assert types_named("all") == set(TYPES.values())
    assert types_named("") == {"order.completed"}
    assert types_named(" order.failed, order.cancelled ") == {
        "order.completed",
        "order.failed",
        "order.cancelled",
    }
    with pytest.raises(InputError, match=r"order\.eaten"):
        types_named("order.failed,order.eaten")


def test_waits_are_drawn_below_a_width_that_doubles_up_to_a_cap() -> None:
    patience = Patience(attempts=100, first_s=2, cap_s=60)
    failed = Answer(500, "answered 500")
    for attempt, widest in ((1, 2), (2, 4), (5, 32), (6, 60), (99, 60)):
        drawn = [patience.next_s(attempt, failed) or 0.0 for _ in range(300)]
        assert 0 <= min(drawn) < 0.2 * widest, "full jitter reaches down to nothing"
        assert 0.8 * widest < max(drawn) <= widest


def test_the_last_try_and_a_gone_receiver_end_it() -> None:
    patience = Patience(attempts=3, first_s=2, cap_s=60)
    assert patience.next_s(2, Answer(None, "refused")) is not None
    assert patience.next_s(3, Answer(None, "refused")) is None
    assert patience.next_s(1, Answer(410, "answered 410")) is None


def test_a_receiver_may_ask_for_a_longer_wait_up_to_the_cap() -> None:
    patience = Patience(attempts=3, first_s=2, cap_s=60)
    assert patience.next_s(1, Answer(429, "answered 429", retry_after_s=30)) == 30
    assert patience.next_s(1, Answer(503, "answered 503", retry_after_s=86_400)) == 60


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"webhook_secret": ""}, "SAYCART_WEBHOOK_SECRET can't be used: no secret"),
        ({"webhook_secret": "hunter2"}, "24 to 64 bytes"),
        ({"webhook_url": "till.example"}, "not an http URL"),
    ],
)
def test_a_url_that_nobody_could_be_told_at_ends_the_start(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    good = {"webhook_url": "https://till.example", "webhook_secret": SECRET}
    config = Settings(home=tmp_path, **(good | change))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        webhook_signer(config)
    # The stack says so before it starts anything.
    with pytest.raises(InputError, match=said):
        Stack(config).start()
    assert not (tmp_path / "run").exists()


def test_the_stack_has_a_courier_when_there_is_somebody_to_tell(tmp_path: Path) -> None:
    elsewhere = {"home": tmp_path, "redis_url": "redis://q", "llm_url": "http://llm"}
    for url, endpoints, couriers in (
        ("https://till.example", "off", ["courier"]),
        ("", "off", []),
        ("", "public", ["courier"]),
    ):
        tells = {"webhook_url": url, "webhook_secret": SECRET, "webhook_endpoints": endpoints}
        stack = Stack(Settings(**elsewhere, **tells))  # type: ignore[arg-type]
        with socket.socket() as listener:
            names = [child.name for child in stack._children(listener)]
        assert [name for name in names if name == "courier"] == couriers
        assert names == stack.parts
