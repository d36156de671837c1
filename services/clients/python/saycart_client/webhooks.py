"""Verify saycart's webhooks (Standard Webhooks: HMAC-SHA256 over id, time and body)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping

from saycart_client.errors import InvalidSignature
from saycart_client.models import WebhookMessage

TOLERANCE_S = 300


def verify(body: bytes, headers: Mapping[str, str], secret: str) -> WebhookMessage:
    """Verify a webhook and return its message; see `verify_signature`."""
    verify_signature(body, headers, secret)
    return WebhookMessage.model_validate_json(body)


def verify_signature(body: bytes, headers: Mapping[str, str], secret: str) -> None:
    """Verify a webhook with any body, such as an order in a till's format.

    Args:
        body: the raw bytes, not parsed and serialized again.
        headers: the request's headers; case doesn't matter.
        secret: `whsec_…`, as printed by `saycart webhooks add`.

    Raises:
        InvalidSignature: a header is missing, the signature doesn't match, or it is older than 5 minutes.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = given["webhook-id"], given["webhook-timestamp"]
        signatures, age_s = given["webhook-signature"].split(), abs(time.time() - int(sent_at))
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except KeyError as error:
        raise InvalidSignature(f"The header {error} is missing.") from None
    except ValueError:
        raise InvalidSignature("The timestamp or the secret is malformed.") from None
    if age_s > TOLERANCE_S:
        raise InvalidSignature("The message is too old, or from the future.")
    signed = hmac.new(key, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(signed)
    if not any(hmac.compare_digest(expected, one.encode()) for one in signatures):
        raise InvalidSignature("No signature matches.")
