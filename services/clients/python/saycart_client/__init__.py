"""saycart's client: order by text or speech, answer questions, confirm, review, and verify webhooks."""

from saycart_client.aio import AsyncLiveOrder, AsyncSaycart
from saycart_client.client import LiveOrder, Saycart
from saycart_client.errors import SaycartError
from saycart_client.webhooks import verify, verify_signature

__all__ = [
    "AsyncLiveOrder",
    "AsyncSaycart",
    "LiveOrder",
    "Saycart",
    "SaycartError",
    "verify",
    "verify_signature",
]
