"""A telephone line: Twilio records a caller, and reads out saycart's result."""

import base64
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

import httpx

from saycart_client import Saycart
from saycart_client.errors import NotSettled

AMOUNTS = {"none": "no ", "light": "light ", "extra": "extra "}


class Call(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode(), True))
        expected = signature(os.environ["PUBLIC"] + self.path, form)
        if not hmac.compare_digest(str(self.headers["X-Twilio-Signature"]).encode(), expected):
            return self.send_error(403)
        step = next_step(form | dict(parse_qsl(urlsplit(self.path).query)))
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.end_headers()
        self.wfile.write(f"<Response>{step}</Response>".encode())


def signature(url: str, form: dict[str, str]) -> bytes:
    signed = url + "".join(name + form[name] for name in sorted(form))
    return base64.b64encode(hmac.digest(os.environ["TOKEN"].encode(), signed.encode(), "sha1"))


def next_step(params: dict[str, str]) -> str:
    saycart = Saycart(os.environ["KEY"], os.environ["SAYCART"])
    if "order" in params:
        order = saycart.get(params["order"])
    elif "RecordingUrl" in params:
        wav, caller = recording(params["RecordingUrl"]), {"telephone": params.get("From")}
        key = params["RecordingSid"]
        order = saycart.order(wav, os.environ["MENU"], metadata=caller, idempotency_key=key)
    else:
        return '<Say>What would you like?</Say><Record maxLength="60"/>'
    try:
        order = order.wait(8)  # Twilio waits 15 s for TwiML
    except NotSettled:
        return f"<Say>One moment.</Say><Redirect>/?order={order.id}</Redirect>"
    if order.status != "completed" or order.cart is None:
        return "<Say>A colleague will look at your order and call you back.</Say>"
    lines = []
    for line in order.cart.lines:
        options = [AMOUNTS.get(one.amount, "") + one.name for one in line.options]
        lines.append(" ".join(filter(None, (str(line.quantity), line.size_name, line.name, *options))))
    total = f"{order.cart.total / 100:.2f} {order.cart.currency}"
    return f"<Say>We are making {escape(', '.join(lines))}. That is {total}.</Say>"


def recording(url: str) -> bytes:
    account = os.environ["ACCOUNT"], os.environ["TOKEN"]
    for pause_s in (1, 1, 2, 0):
        if (answer := httpx.get(f"{url}.wav", auth=account)).status_code != 404:
            break
        time.sleep(pause_s)  # Twilio may still be storing it
    return answer.raise_for_status().content


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9001"))), Call).serve_forever()
