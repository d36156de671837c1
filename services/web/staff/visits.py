"""Where staff come from: their address, their browser in a few words, and whether it was here before."""

from __future__ import annotations

import hashlib

from fastapi import Request
from starlette.responses import Response

from schemas.shops.staff import Visit
from services.web.staff.staff import read_cookie, set_cookie

DEVICE_COOKIE = "saycart_device"
# As long as storage knows the device; each sign-in begins it anew.
DEVICE_S = 180 * 24 * 3600
OF_PROVIDER = ""
"""In place of a name that no account has: who comes by a provider has no name here before it is looked at."""

# The first that is found counts: Edge says that it is Chrome, and Chrome that it is Safari.
_BROWSERS = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser": "Samsung Internet", "Firefox": "Firefox",
    "FxiOS": "Firefox", "Chrome": "Chrome", "CriOS": "Chrome", "Safari": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS": "macOS", "Linux": "Linux",
}  # fmt: skip


def visit_of(request: Request, name: str) -> Visit:
    """Where this attempt to sign in as `name` comes from; uvicorn decides whose X-Forwarded-For counts."""
    return Visit(
        address=request.client.host if request.client else "local",
        browser=browser_of(request.headers.get("user-agent", "")),
        device=read_cookie(request, _device_cookie(name)),
    )


def remember_device(request: Request, answer: Response, name: str, token: str) -> None:
    """Let this browser be known for `name` when it comes again."""
    set_cookie(request, answer, _device_cookie(name), token, DEVICE_S, "strict")


def browser_of(agent: str) -> str:
    """A User-Agent in words such as `Firefox on Linux`: enough to tell one's own sessions apart, and nothing
    of what a caller may write into it."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "A program")
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def _device_cookie(name: str) -> str:
    # One for each name: a tablet at the counter is several people's, and each token is exchanged for a new
    # one whenever its owner signs in.
    return f"{DEVICE_COOKIE}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
