"""saycart's client: order by text or speech, answer questions, confirm, and verify webhooks."""

from saycart_client.client import AsyncLiveOrder as AsyncLiveOrder
from saycart_client.client import AsyncSaycart as AsyncSaycart
from saycart_client.client import LiveOrder as LiveOrder
from saycart_client.client import Saycart as Saycart
from saycart_client.errors import SaycartError as SaycartError
from saycart_client.webhooks import verify as verify
from saycart_client.webhooks import verify_signature as verify_signature
