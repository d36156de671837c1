"""Verifies the webhooks that saycart sends (Standard Webhooks: HMAC-SHA256 over id, time and body)."""

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
    """Return the message of a webhook, once its signature fits; the arguments and errors are those of
    `verify_signature`."""
    verify_signature(body, headers, secret)
    return WebhookMessage.model_validate_json(body)


def verify_signature(body: bytes, headers: Mapping[str, str], secret: str) -> None:
    """Verify a webhook in whatever form it is, such as a till's.

    Args:
        body: the bytes as they came, not parsed and written again.
        headers: those of the request, by names in any case.
        secret: `whsec_…`, as `saycart webhooks add` printed it.

    Raises:
        InvalidSignature: a header is missing, the signature doesn't fit, or it is older than 5 minutes.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = given["webhook-id"], given["webhook-timestamp"]
        signatures, age_s = given["webhook-signature"].split(), abs(time.time() - int(sent_at))
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except KeyError as error:
        raise InvalidSignature(f"The header {error} is missing.") from None
    except ValueError:
        raise InvalidSignature("The time or the secret can't be read.") from None
    if age_s > TOLERANCE_S:
        raise InvalidSignature("The message is too old, or from the future.")
    signed = hmac.new(key, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(signed)
    if not any(hmac.compare_digest(expected, one.encode()) for one in signatures):
        raise InvalidSignature("No signature fits.")
