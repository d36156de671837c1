"""The address and browser of a sign-in."""

from __future__ import annotations

from fastapi import Request

from schemas.shops.staff import Visit

# The first match counts: Edge claims to be Chrome, and Chrome to be Safari.
_BROWSERS = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser": "Samsung Internet", "Firefox": "Firefox",
    "FxiOS": "Firefox", "Chrome": "Chrome", "CriOS": "Chrome", "Safari": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS": "macOS", "Linux": "Linux",
}  # fmt: skip


def visit_of(request: Request) -> Visit:
    """Return the origin of a sign-in; uvicorn applies X-Forwarded-For of trusted proxies."""
    return Visit(
        address=request.client.host if request.client else "local",
        browser=browser_of(request.headers.get("user-agent", "")),
    )


def browser_of(agent: str) -> str:
    """Describe a User-Agent, such as `Firefox on Linux`, without the caller's own text."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "A program")
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if system else browser
