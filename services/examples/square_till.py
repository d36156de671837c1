"""Create each completed order in Square, and mark it as taken so that it can't be cancelled.

Needs saycart-client, and an endpoint added with `--till square` (docs/tills.md); SECRET is its secret.
SQUARE_TOKEN is a sandbox access token; for production set SQUARE to its address.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx

from saycart_client import Saycart, SaycartError, verify_signature
from saycart_client.errors import Conflict, InvalidSignature

# Constant, so that retries are identical: Square refuses a different order with the same key.
ASAP = {"schedule_type": "ASAP", "prep_time_duration": "PT10M", "recipient": {"display_name": "saycart"}}
PICKUP = {"type": "PICKUP", "pickup_details": ASAP}


class Forwarder(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body, status = self.rfile.read(int(self.headers["Content-Length"])), 204
        try:
            verify_signature(body, dict(self.headers), os.environ["SECRET"])
            forward(json.loads(body))
        except InvalidSignature:
            status = 401
        except Conflict:
            pass  # it was cancelled
        except (SaycartError, httpx.HTTPError) as error:
            print(error, flush=True)
            status = 503  # saycart will retry
        self.send_response(status)
        self.end_headers()


def forward(message: dict[str, Any]) -> None:
    """Create the order. One that Square would refuse comes in saycart's format, with `refusals`."""
    if order := message.get("order"):
        Saycart(os.environ["KEY"], os.environ["SAYCART"]).get(order["reference_id"]).take()
        order["fulfillments"] = [PICKUP]
        answer = httpx.post(
            os.environ.get("SQUARE", "https://connect.squareupsandbox.com") + "/v2/orders",
            headers={"Authorization": f"Bearer {os.environ['SQUARE_TOKEN']}"},
            json=message,
            timeout=10,
        )
        if answer.is_error:
            raise httpx.HTTPError(f"{order['reference_id']}: Square answered {answer.text}")
    for refusal in message.get("data", {}).get("refusals", []):
        print(f"Key in {message['data']['order_id']} by hand: {refusal['message']}", flush=True)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Forwarder).serve_forever()
