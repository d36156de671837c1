"""A kitchen till: marks each completed order as taken, so that it can't be cancelled, and prints it.

Needs saycart-client; KEY, SAYCART and SECRET as in docs/first-order.md.
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from saycart_client import Saycart, SaycartError, verify
from saycart_client.errors import Conflict, InvalidSignature
from saycart_client.models import Cart, CartOption

TICKETS = Path("tickets")


class Till(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body, status = self.rfile.read(int(self.headers["Content-Length"])), 204
        try:
            message = verify(body, dict(self.headers), os.environ["SECRET"])
            if message.type == "order.completed" and message.data.cart:
                make(message.data.order_id, message.data.cart)
        except InvalidSignature:
            status = 401
        except Conflict:
            pass  # it was cancelled
        except SaycartError as error:
            print(error, flush=True)
            status = 503  # saycart will retry
        self.send_response(status)
        self.end_headers()


def make(order_id: str, cart: Cart) -> None:
    """Take and print an order once; a stored ticket means that it was printed."""
    file = TICKETS / f"{order_id}.txt"
    if not file.exists():
        Saycart(os.environ["KEY"], os.environ["SAYCART"]).get(order_id).take()
        text = ticket(order_id, cart)
        print(text, flush=True)
        file.write_text(text, encoding="utf-8")


def ticket(order_id: str, cart: Cart) -> str:
    """Return a ticket's text: notes on the whole order, allergies first, then the lines."""
    notes = [(note.line, f"{note.kind.upper()}: {note.text}") for note in cart.notes]
    rows = [order_id, *(text for at, text in notes if at is None)]
    for index, line in enumerate(cart.lines):
        rows.append(" ".join(filter(None, (f"{line.quantity} x", line.size_name, line.name))))
        contents = [f"contains {', '.join(line.allergens)}"] if line.allergens else []
        below = (*map(wording, line.options), *contents, *(text for at, text in notes if at == index))
        rows.extend(f"    {text}" for text in below)
    return "\n".join(rows) + "\n"


def wording(option: CartOption) -> str:
    count = f"{option.count} x" if option.count > 1 else ""
    amount = {"normal": "", "none": "no"}.get(option.amount, option.amount)
    half = "" if option.portion == "whole" else f"({option.portion} half)"
    return " ".join(filter(None, (count, amount, option.name, half)))


if __name__ == "__main__":
    TICKETS.mkdir(exist_ok=True)
    HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Till).serve_forever()
